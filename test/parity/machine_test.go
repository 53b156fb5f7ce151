// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"context"
	"testing"

	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	podresource "k8s.io/component-helpers/resource"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugins/noderesourcesbalancedallocation"
	"github.com/rouse-scheduler/rouse/plugins/noderesourcesfit"
	"github.com/rouse-scheduler/rouse/plugins/tainttoleration"
)

// filter is what the faulty copies pass on of a plugin.
type filter interface {
	fwk.SignPlugin
	fwk.EnqueueExtensions
	fwk.PreFilterPlugin
	fwk.FilterPlugin
	fwk.PreScorePlugin
	fwk.ScorePlugin
}

// strictFit compares wrongly: it has no room for a pod that fits exactly.
type strictFit struct{ filter }

func (f strictFit) Filter(ctx context.Context, state fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo) *fwk.Status {
	requests := podresource.PodRequests(pod, podresource.PodResourcesOptions{})
	free := node.GetAllocatable().GetMilliCPU() - node.GetRequested().GetMilliCPU()
	if wanted := requests.Cpu().MilliValue(); wanted > 0 && wanted == free {
		return fwk.NewStatus(fwk.Unschedulable, "Insufficient cpu")
	}
	return f.filter.Filter(ctx, state, pod, node)
}

// silentTaints forgets its reason.
type silentTaints struct{ filter }

func (s silentTaints) Filter(ctx context.Context, state fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo) *fwk.Status {
	if status := s.filter.Filter(ctx, state, pod, node); !status.IsSuccess() {
		return fwk.NewStatus(status.Code())
	}
	return nil
}

// roundedBalance rounds up where it should cut off.
type roundedBalance struct{ score }

// score is what the faulty copy passes on of NodeResourcesBalancedAllocation.
type score interface {
	fwk.SignPlugin
	fwk.PreScorePlugin
	fwk.ScorePlugin
}

func (r roundedBalance) Score(ctx context.Context, state fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo) (int64, *fwk.Status) {
	score, status := r.score.Score(ctx, state, pod, node)
	if score%2 == 1 && score < fwk.MaxScore {
		score++
	}
	return score, status
}

// broken replaces a plugin of Rouse by a faulty copy.
func broken(name string, spoil func(fwk.Plugin) fwk.Plugin) builder {
	return func(ctx context.Context, c cluster, p profile) (*side, error) {
		factories := ourFactories()
		sound := factories[name]
		factories[name] = func(ctx context.Context, args apiruntime.Object, handle fwk.Handle) (fwk.Plugin, error) {
			plugin, err := sound(ctx, args, handle)
			if err != nil {
				return nil, err
			}
			return spoil(plugin), nil
		}
		return inOurRuntime(ctx, c, p, factories)
	}
}

// TestFaultyPluginsAreCaught tests the comparison itself: plugins with small faults do not get through, and the cases that
// show them are reduced to the pod and the node that matter.
func TestFaultyPluginsAreCaught(t *testing.T) {
	faults := []struct {
		name, plugin string
		spoil        func(fwk.Plugin) fwk.Plugin
	}{
		{"a wrong comparison", noderesourcesfit.Name, func(p fwk.Plugin) fwk.Plugin { return strictFit{p.(filter)} }},
		{"a missing reason", tainttoleration.Name, func(p fwk.Plugin) fwk.Plugin { return silentTaints{p.(filter)} }},
		{"a wrong rounding", noderesourcesbalancedallocation.Name, func(p fwk.Plugin) fwk.Plugin {
			return roundedBalance{p.(score)}
		}},
	}
	m := newMachine()
	const rounds = 300
	for _, fault := range faults {
		t.Run(fault.name, func(t *testing.T) {
			t.Parallel()
			faulty := broken(fault.plugin, fault.spoil)
			for seed := range uint64(rounds) {
				g := newGenerator(seed)
				c := trial{
					cluster: g.cluster(), profile: all(m.available), pending: []*v1.Pod{g.pod("one"), g.pod("two")}, label: "default profile",
				}
				diff, _, err := sidesDiffer(t.Context(), c, theirs, faulty)
				if err != nil {
					t.Fatal(err)
				}
				if diff == "" {
					continue
				}
				t.Logf("caught in round %d", seed+1)
				small := shrinkTrial(t.Context(), c, theirs, faulty)
				if len(small.plugins) != 1 || small.plugins[0].Name != fault.plugin || len(small.pending) != 1 || len(small.nodes) != 1 ||
					len(small.pods) > 1 || len(small.objects) > 0 {
					t.Errorf("the case could be smaller:\n%s", caseText(small))
				}
				return
			}
			t.Errorf("a %s with %s got through %d rounds", fault.plugin, fault.name, rounds)
		})
	}
}
