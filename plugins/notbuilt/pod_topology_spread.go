// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package notbuilt

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugins/internal/pluginargs"
)

// PodTopologySpread is the name of a plugin.
const PodTopologySpread = "PodTopologySpread"

// scoring is a stand-in for a plugin that scores nodes too.
type scoring struct {
	standIn
	noPreScore
	noScore
}

var (
	_ fwk.PreFilterPlugin   = &scoring{}
	_ fwk.FilterPlugin      = &scoring{}
	_ fwk.PreScorePlugin    = &scoring{}
	_ fwk.ScorePlugin       = &scoring{}
	_ fwk.EnqueueExtensions = &scoring{}
)

// NewPodTopologySpread builds the stand-in for PodTopologySpread from *configv1.PodTopologySpreadArgs, where nil means
// all defaults; the handle is not used. Constraints that the profile gives to pods without any count too, whether or
// not a service or an owner makes them apply to a pod.
func NewPodTopologySpread(_ context.Context, object apiruntime.Object, _ fwk.Handle) (fwk.Plugin, error) {
	args, err := pluginargs.Of[configv1.PodTopologySpreadArgs](PodTopologySpread, object)
	if err != nil {
		return nil, err
	}
	find := func(pod *v1.Pod) (*need, error) {
		if len(pod.Spec.TopologySpreadConstraints) > 0 {
			return firstHardConstraint("has a", pod.Spec.TopologySpreadConstraints, "spec.topologySpreadConstraints"), nil
		}
		return firstHardConstraint("gets the profile's", args.DefaultConstraints, "defaultConstraints"), nil
	}
	return &scoring{standIn: standIn{name: PodTopologySpread, find: find}}, nil
}

func firstHardConstraint(verb string, constraints []v1.TopologySpreadConstraint, field string) *need {
	for i, constraint := range constraints {
		if constraint.WhenUnsatisfiable == v1.DoNotSchedule {
			return &need{
				what:  fmt.Sprintf("%s topology spread constraint on %q with whenUnsatisfiable DoNotSchedule", verb, constraint.TopologyKey),
				field: fmt.Sprintf("%s[%d]", field, i),
			}
		}
	}
	return nil
}
