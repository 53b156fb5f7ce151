// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package podtopologyspread_test

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugins/podtopologyspread"
)

// steadyCluster is a cluster in which a pod comes to another node before every decision.
type steadyCluster struct {
	slots    fixture.Slots
	infos    []*framework.NodeInfo
	next     int
	pl       *podtopologyspread.Plugin
	statuses []*fwk.Status
	scores   []int64
}

func newSteadyCluster(tb testing.TB, nodes int) *steadyCluster {
	c := &steadyCluster{statuses: make([]*fwk.Status, nodes), scores: make([]int64, nodes)}
	for i := range nodes {
		c.infos = append(c.infos, node(fmt.Sprintf("n%d", i), fmt.Sprintf("z%d", i%10), "web", "db"))
	}
	c.slots.Fill(c.infos)
	handle := &fixture.Handle{Snapshot: &c.slots, Informers: fixture.Informers(tb, &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"},
		Spec:       v1.ServiceSpec{Selector: labels("app", "web")},
	})}
	pl, err := podtopologyspread.New(tb.Context(), nil, handle)
	if err != nil {
		tb.Fatal(err)
	}
	c.pl = pl.(*podtopologyspread.Plugin)
	return c
}

// change alternates between adding pods to nodes and taking them away.
func (c *steadyCluster) change(pod fwk.PodInfo) {
	slot := c.next % len(c.infos)
	if c.next/len(c.infos)%2 == 0 {
		c.infos[slot].AddPodInfo(pod)
	} else if err := c.infos[slot].RemovePod(klog.Logger{}, pod.GetPod()); err != nil {
		panic(err)
	}
	c.slots.Touch(slot)
	c.next++
}

func (c *steadyCluster) decide(tb testing.TB, pod *v1.Pod) {
	ctx, state := tb.Context(), framework.NewCycleState()
	list, _ := c.slots.List()
	if _, status := c.pl.PreFilter(ctx, state, pod, list); status.IsSuccess() {
		clear(c.statuses)
		c.pl.FilterSlots(ctx, state, pod, &c.slots, c.slots.SlotOrder(), c.statuses)
	}
	if status := c.pl.PreScoreAll(ctx, state, pod, &c.slots); status.IsSuccess() {
		c.pl.ScoreAll(ctx, state, pod, &c.slots, c.slots.SlotOrder(), c.scores)
	}
}

func steadyPods() map[string]*v1.Pod {
	return map[string]*v1.Pod{
		"plain":                     labelled("p", "app", "none"),
		"defaults":                  web(),
		"hard zones":                web(constraint(1, zone, hard)),
		"hard zones and nodes":      spreadOverZonesAndNodes(hard),
		"soft zones and nodes":      spreadOverZonesAndNodes(soft),
		"hard zones and soft nodes": web(constraint(5, zone, hard), constraint(1, host, soft)),
	}
}

// BenchmarkDecision is the share of the plugin in the decision about one pod, all nodes scored, after one change.
func BenchmarkDecision(b *testing.B) {
	for _, nodes := range []int{5000, 15000} {
		for name, pod := range steadyPods() {
			b.Run(fmt.Sprintf("%d nodes/%s", nodes, name), func(b *testing.B) {
				c := newSteadyCluster(b, nodes)
				other, _ := framework.NewPodInfo(labelled("other", "app", "web"))
				c.decide(b, pod)
				b.ReportAllocs()
				for b.Loop() {
					c.change(other)
					c.decide(b, pod)
				}
			})
		}
	}
}

func TestDecisionsAllocateLittle(t *testing.T) {
	for name, pod := range steadyPods() {
		t.Run(name, func(t *testing.T) {
			c := newSteadyCluster(t, 100)
			c.decide(t, pod)
			// The state itself is made anew every time, too.
			limit := 22.0
			if name == "plain" {
				limit = 4
			}
			if allocs := testing.AllocsPerRun(100, func() { c.slots.Touch(1); c.decide(t, pod) }); allocs > limit {
				t.Errorf("a decision allocates %v times, want at most %v", allocs, limit)
			}
		})
	}
}
