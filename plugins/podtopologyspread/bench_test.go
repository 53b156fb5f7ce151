// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package podtopologyspread

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
)

// largeCluster has 1000 nodes in ten zones with 30 pods each, ten of which are selected.
func largeCluster() []*framework.NodeInfo {
	var nodes []*framework.NodeInfo
	for i := range 1000 {
		info := node(fmt.Sprintf("n%d", i), fmt.Sprintf("z%d", i%10))
		for j := range 30 {
			info.AddPod(labelled(fmt.Sprintf("p%d-%d", i, j), "app", []string{"web", "db", "cache"}[j%3]))
		}
		nodes = append(nodes, info)
	}
	return nodes
}

func spreadOverZonesAndNodes(action v1.UnsatisfiableConstraintAction) *v1.Pod {
	return web(constraintOn(1, zone, action), constraintOn(1, host, action))
}

func BenchmarkPreFilter(b *testing.B) {
	nodes := asLister(largeCluster())
	for _, bb := range []struct {
		name string
		pod  *v1.Pod
	}{
		{"zones", web(constraintOn(1, zone, hard))},
		{"zones and nodes", spreadOverZonesAndNodes(hard)},
		{"skip", web()},
	} {
		b.Run(bb.name, func(b *testing.B) {
			pl, state, ctx := newPlugin(b, nil, nil), framework.NewCycleState(), b.Context()
			b.ReportAllocs()
			for b.Loop() {
				pl.PreFilter(ctx, state, bb.pod, nodes)
			}
		})
	}
}

// BenchmarkFilter filters 1000 nodes in each iteration.
func BenchmarkFilter(b *testing.B) {
	nodes := largeCluster()
	pl, state, ctx := newPlugin(b, nil, nil), framework.NewCycleState(), b.Context()
	pod := spreadOverZonesAndNodes(hard)
	pl.PreFilter(ctx, state, pod, asLister(nodes))
	b.ReportAllocs()
	for b.Loop() {
		for _, info := range nodes {
			pl.Filter(ctx, state, pod, info)
		}
	}
}

// BenchmarkCloneAndAddPod is what one node costs on which another pod is nominated.
func BenchmarkCloneAndAddPod(b *testing.B) {
	nodes := largeCluster()
	pl, state, ctx := newPlugin(b, nil, nil), framework.NewCycleState(), b.Context()
	pod := spreadOverZonesAndNodes(hard)
	pl.PreFilter(ctx, state, pod, asLister(nodes))
	other, err := framework.NewPodInfo(labelled("nominated", "app", "web"))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		pl.AddPod(ctx, state.Clone(), pod, other, nodes[0])
	}
}

func BenchmarkPreScore(b *testing.B) {
	nodes := largeCluster()
	pl, state, ctx := newPlugin(b, nil, nodes), framework.NewCycleState(), b.Context()
	pod, candidates := spreadOverZonesAndNodes(soft), asLister(nodes)
	b.ReportAllocs()
	for b.Loop() {
		pl.PreScore(ctx, state, pod, candidates)
	}
}

// BenchmarkScore scores 1000 nodes in each iteration.
func BenchmarkScore(b *testing.B) {
	nodes := largeCluster()
	pl, state, ctx := newPlugin(b, nil, nodes), framework.NewCycleState(), b.Context()
	pod := spreadOverZonesAndNodes(soft)
	pl.PreScore(ctx, state, pod, asLister(nodes))
	b.ReportAllocs()
	for b.Loop() {
		for _, info := range nodes {
			pl.Score(ctx, state, pod, info)
		}
	}
}

func TestFilterAndScoreDoNotAllocate(t *testing.T) {
	nodes := fourNodes("web | | web |")
	pl, state, ctx := newPlugin(t, nil, nodes), framework.NewCycleState(), t.Context()
	pod := web(constraintOn(2, zone, hard), constraintOn(1, host, soft))
	_, status := pl.PreFilter(ctx, state, pod, asLister(nodes))
	fixture.CheckStatus(t, status, nil)
	fixture.CheckStatus(t, pl.PreScore(ctx, state, pod, asLister(nodes)), nil)
	for name, call := range map[string]func(){
		"a passing filter": func() { pl.Filter(ctx, state, pod, nodes[1]) },
		"a score":          func() { pl.Score(ctx, state, pod, nodes[1]) },
	} {
		if allocs := testing.AllocsPerRun(100, call); allocs != 0 {
			t.Errorf("%s allocates %v times", name, allocs)
		}
	}
}
