// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/rouse-scheduler/rouse/advice"
	"github.com/rouse-scheduler/rouse/inspect"
	"github.com/rouse-scheduler/rouse/profiles"
	"github.com/rouse-scheduler/rouse/simulate"
	"github.com/rouse-scheduler/rouse/whatif"
)

// newWhatIf returns a cluster to ask about, with the objects and the plugins of a configuration. Extenders are not asked. It is an
// error if a factory waits for objects of a kind that none of the objects has.
func (p *program) newWhatIf(ctx context.Context, config *profiles.Configuration, objects []apiruntime.Object) (*whatif.Cluster, error) {
	registry, err := p.registry()
	if err != nil {
		return nil, err
	}
	return whatif.New(ctx, whatif.Options{Configuration: config, Registry: registry.Registry, Objects: objects, Concurrency: 1,
		FactoryTimeout: factoryTimeout, Logger: logger()})
}

// advise adds to an explanation what would let a waiting pod be scheduled, or why a pod is on its node. What it cannot find out it
// says there.
func advise(ctx context.Context, cluster *whatif.Cluster, explanation *inspect.Explanation, nodes int) {
	pod := podNamed(cluster, explanation.Namespace, explanation.Name)
	if pod == nil || explanation.Phase != "" {
		return
	}
	var err error
	switch explanation.Pool {
	case simulate.PoolBound:
		explanation.Scores, err = scores(ctx, cluster.Fork(), pod, nodes)
	case simulate.PoolUnschedulable, simulate.PoolGated, simulate.PoolBackoff:
		explanation.Suggestions, err = advice.For(ctx, cluster, pod, advice.Options{})
	}
	if err != nil {
		explanation.SuggestionsError = err.Error()
	}
}

// podNamed returns a pod of a cluster, nil if it does not exist.
func podNamed(cluster *whatif.Cluster, namespace, name string) *v1.Pod {
	pod, _ := cluster.Get(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}).(*v1.Pod)
	return pod
}

// scores returns the best nodes for a pod that has one, as if it were to be placed now.
func scores(ctx context.Context, fork *whatif.Cluster, pod *v1.Pod, nodes int) ([]inspect.NodeScore, error) {
	if err := fork.Remove(pod); err != nil {
		return nil, err
	}
	choice, err := fork.Best(ctx, pod)
	if err != nil {
		return nil, fmt.Errorf("scoring the nodes again: %w", err)
	}
	best := []inspect.NodeScore{}
	for _, of := range choice.Scores {
		own := of.Name == pod.Spec.NodeName
		if len(best) >= nodes && !own {
			continue
		}
		score := inspect.NodeScore{Node: of.Name, Total: of.TotalScore, Plugins: []inspect.PluginScore{}}
		for _, plugin := range of.Scores {
			score.Plugins = append(score.Plugins, inspect.PluginScore{Plugin: plugin.Name, Score: plugin.Score})
		}
		best = append(best, score)
	}
	return best, nil
}
