// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package interpodaffinity

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// largeCluster has 1000 nodes in ten zones with 30 pods each. One of the pods of a node is a database that keeps away
// from other ones, and one a cache that would rather be with web servers.
func largeCluster() []*framework.NodeInfo {
	var nodes []*framework.NodeInfo
	for i := range 1000 {
		info := node(fmt.Sprintf("n%d", i), fmt.Sprintf("host=n%d zone=z%d", i, i%10))
		info.AddPod(objects.Pod(fmt.Sprintf("db%d", i)).Label("app", "db").With(from(term("host", "db"))).Build())
		info.AddPod(objects.Pod(fmt.Sprintf("cache%d", i)).Label("app", "cache").With(rather(weighted(5, term("zone", "web")))).Build())
		for j := range 28 {
			info.AddPod(objects.Pod(fmt.Sprintf("p%d-%d", i, j)).Label("app", []string{"web", "worker"}[j%2]).Build())
		}
		nodes = append(nodes, info)
	}
	return nodes
}

func BenchmarkPreFilter(b *testing.B) {
	cluster := largeCluster()
	nodes := asLister(cluster)
	for _, bb := range []struct {
		name string
		pod  *v1.Pod
	}{
		{"skip", objects.Pod("p").Label("app", "web").Build()},
		{"existing anti-affinity", objects.Pod("p").Label("app", "db").Build()},
		{"anti-affinity between replicas", objects.Pod("p").Label("app", "db").With(from(term("host", "db"))).Build()},
		{"affinity", objects.Pod("p").Label("app", "web").With(to(term("zone", "db"))).Build()},
	} {
		b.Run(bb.name, func(b *testing.B) {
			pl, state, ctx := newPlugin(b, nil, cluster), framework.NewCycleState(), b.Context()
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
	for _, bb := range []struct {
		name string
		pod  *v1.Pod
	}{
		{"affinity accepts", objects.Pod("p").Label("app", "worker").With(to(term("zone", "db"))).Build()},
		{"anti-affinity rejects", objects.Pod("p").Label("app", "db").With(from(term("host", "db"))).Build()},
	} {
		b.Run(bb.name, func(b *testing.B) {
			pl, state, ctx := newPlugin(b, nil, nodes), framework.NewCycleState(), b.Context()
			pl.PreFilter(ctx, state, bb.pod, asLister(nodes))
			b.ReportAllocs()
			for b.Loop() {
				for _, info := range nodes {
					pl.Filter(ctx, state, bb.pod, info)
				}
			}
		})
	}
}

// BenchmarkCloneAndAddPod is what one node costs on which another pod is nominated.
func BenchmarkCloneAndAddPod(b *testing.B) {
	nodes := largeCluster()
	pl, state, ctx := newPlugin(b, nil, nodes), framework.NewCycleState(), b.Context()
	incoming, other := objects.Pod("p").Label("app", "db").With(from(term("host", "db"))).Build(), podInfo(b, objects.Pod("nominated").Label("app", "db").With(from(term("host", "db"))).Build())
	pl.PreFilter(ctx, state, incoming, asLister(nodes))
	b.ReportAllocs()
	for b.Loop() {
		pl.AddPod(ctx, state.Clone(), incoming, other, nodes[0])
	}
}

func BenchmarkPreScore(b *testing.B) {
	cluster := largeCluster()
	nodes := asLister(cluster)
	for _, bb := range []struct {
		name string
		pod  *v1.Pod
	}{
		{"own preferences", objects.Pod("p").Label("app", "worker").With(rather(weighted(5, term("zone", "db")))).Build()},
		{"preferences of others", objects.Pod("p").Label("app", "web").Build()},
	} {
		b.Run(bb.name, func(b *testing.B) {
			pl, state, ctx := newPlugin(b, nil, cluster), framework.NewCycleState(), b.Context()
			b.ReportAllocs()
			for b.Loop() {
				pl.PreScore(ctx, state, bb.pod, nodes)
			}
		})
	}
}

func TestFilterAndScoreDoNotAllocate(t *testing.T) {
	some := []*framework.NodeInfo{node("n1", "host=n1 zone=z1", objects.Pod("e").Label("app", "db").With(from(term("host", "web"))).Build()), node("n2", "host=n2 zone=z1")}
	incoming := objects.Pod("p").Label("app", "web").With(to(term("zone", "db"))).With(from(term("host", "web"))).With(rather(weighted(5, term("zone", "db")))).Build()
	pl, state, ctx := newPlugin(t, nil, some), framework.NewCycleState(), t.Context()
	_, status := pl.PreFilter(ctx, state, incoming, asLister(some))
	fixture.CheckStatus(t, status, nil)
	fixture.CheckStatus(t, pl.PreScore(ctx, state, incoming, asLister(some)), nil)
	fixture.CheckStatus(t, pl.Filter(ctx, state, incoming, some[1]), nil)
	for name, call := range map[string]func(){
		"a passing filter": func() { pl.Filter(ctx, state, incoming, some[1]) },
		"a score":          func() { pl.Score(ctx, state, incoming, some[1]) },
	} {
		if allocs := testing.AllocsPerRun(100, call); allocs != 0 {
			t.Errorf("%s allocates %v times", name, allocs)
		}
	}
}
