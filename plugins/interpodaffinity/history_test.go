// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package interpodaffinity

import (
	"fmt"
	"math/rand/v2"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// TestCountsFollowHistory compares a plugin that keeps counts from pod to pod with one that counts everything again, while
// nodes, pods and the labels of namespaces change.
func TestCountsFollowHistory(t *testing.T) {
	random := rand.New(rand.NewPCG(13, 14))
	rejected, between, grouped := 0, 0, 0
	for range 12 {
		h := fixture.NewHistory(t, random)
		h.Node = func(i int) *v1.Node { return randomNode(random, i).Node() }
		h.Pod = func(name string) *v1.Pod { return randomPod(random, name) }
		objects := fixture.Informers(t, namespaces()...)
		newPlugin := func(handle *fixture.Handle) *plugin {
			handle.Informers = objects
			pl, err := New(t.Context(), weighing(3), handle)
			if err != nil {
				t.Fatal(err)
			}
			return pl.(*plugin)
		}
		keeping := newPlugin(&fixture.Handle{Snapshot: &h.Nodes})
		for i := range 150 {
			h.Step()
			if random.IntN(10) == 0 {
				fixture.Store(t, objects, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{
					Name: pick(random, "a1", "default"), Labels: labelMap("team", pick(random, "a", "b")),
				}})
			}
			fresh := newPlugin(&fixture.Handle{Nodes: fixture.Nodes{Infos: h.Nodes.Infos()}})
			some, mixed := fixture.CheckDecisions(t, keeping, fresh, h, randomPod(random, fmt.Sprintf("incoming%d", i)))
			rejected, between = rejected+some, between+mixed
		}
		grouped += h.Grouped
	}
	if rejected < 1000 || between < 500 || grouped < 500 {
		t.Errorf("%d rejections, %d scores between the highest and the lowest, %d nodes like others: too few to be a test", rejected, between, grouped)
	}
}

// TestPodsThatComeAndGo has a plugin filter and score the same pod again and again, while another one comes and goes.
func TestPodsThatComeAndGo(t *testing.T) {
	tests := []struct {
		name            string
		incoming, other *v1.Pod
		with, without   string
	}{
		{"the first of its kind", objects.Pod("p").Label("app", "web").With(to(term("zone", "web"))).Build(), objects.Pod("e").Label("app", "web").Build(), "n1=ok n2=affinity", "n1=ok n2=ok"},
		{"affinity", objects.Pod("p").Label("app", "web").With(to(term("zone", "db"))).Build(), objects.Pod("e").Label("app", "db").Build(), "n1=ok n2=affinity", "n1=affinity n2=affinity"},
		{"anti-affinity", objects.Pod("p").Label("app", "web").With(from(term("zone", "db"))).Build(), objects.Pod("e").Label("app", "db").Build(), "n1=anti n2=ok", "n1=ok n2=ok"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var snapshot fixture.IndexedNodes
			built, err := New(t.Context(), nil, &fixture.Handle{Snapshot: &snapshot, Informers: fixture.Informers(t)})
			if err != nil {
				t.Fatal(err)
			}
			pl := built.(*plugin)
			snapshot.Fill(nodes())
			for round := range 3 {
				for _, now := range []struct {
					pods []*v1.Pod
					want string
				}{{nil, tt.without}, {[]*v1.Pod{tt.other}, tt.with}, {nil, tt.without}} {
					snapshot.Set(0, nodes(now.pods...)[0])
					list, _ := snapshot.List()
					state := framework.NewCycleState()
					_, status := pl.PreFilter(t.Context(), state, tt.incoming, list)
					fixture.CheckStatus(t, status, nil)
					if got := verdicts(t, pl, state, tt.incoming, snapshot.Infos()); got != now.want {
						t.Errorf("round %d, %d pods: got %s, want %s", round, len(now.pods), got, now.want)
					}
				}
			}
		})
	}
}
