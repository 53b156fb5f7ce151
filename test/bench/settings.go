// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	apiruntime "k8s.io/apimachinery/pkg/runtime"
	upstreamconfig "k8s.io/kubernetes/pkg/scheduler/apis/config"
	upstreamscheme "k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"

	"github.com/rouse-scheduler/rouse/profiles"
)

// settings are what is not default about a scheduler.
type settings struct {
	// allNodes asks for every node to be looked at for every pod.
	allNodes bool
	// noDefaultSpread takes away the spread constraints that pods without any get by default.
	noDefaultSpread bool
	// percentage is percentageOfNodesToScore; zero leaves it to the scheduler.
	percentage int
	// outOfTree adds [outOfTreePlugin], and noScore takes away all Score plugins.
	outOfTree, noScore bool
}

// yaml is the configuration file, for either scheduler.
func (s settings) yaml() []byte {
	var b strings.Builder
	b.WriteString("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n")
	if s.allNodes {
		b.WriteString("percentageOfNodesToScore: 100\n")
	}
	if s.percentage > 0 {
		fmt.Fprintf(&b, "percentageOfNodesToScore: %d\n", s.percentage)
	}
	b.WriteString("profiles:\n- schedulerName: default-scheduler\n")
	if s.outOfTree {
		fmt.Fprintf(&b, "  plugins:\n    multiPoint:\n      enabled:\n      - name: %s\n", outOfTreeName)
	}
	if s.noScore {
		b.WriteString("  plugins:\n    preScore:\n      disabled:\n      - name: \"*\"\n    score:\n      disabled:\n      - name: \"*\"\n")
	}
	if s.noDefaultSpread {
		b.WriteString("  pluginConfig:\n  - name: PodTopologySpread\n    args: {defaultingType: List}\n")
	}
	return []byte(b.String())
}

func (s settings) forRouse() (*profiles.Configuration, error) {
	return profiles.Parse("bench.yaml", s.yaml(), profiles.Options{})
}

func (s settings) forKubeScheduler() (*upstreamconfig.KubeSchedulerConfiguration, error) {
	object, _, err := upstreamscheme.Codecs.UniversalDecoder().Decode(s.yaml(), nil, nil)
	if err != nil {
		return nil, fmt.Errorf("decoding the configuration for kube-scheduler: %w", err)
	}
	configuration, ok := object.(*upstreamconfig.KubeSchedulerConfiguration)
	if !ok {
		return nil, fmt.Errorf("decoding the configuration for kube-scheduler: it is a %T", apiruntime.Object(object))
	}
	return configuration, nil
}
