// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package interpodaffinity_test

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugins/interpodaffinity"
)

// steadyCluster is a cluster in which a pod comes or goes before every decision. On every third node is a pod like the
// one to be scheduled.
type steadyCluster struct {
	slots    fixture.Slots
	infos    []*framework.NodeInfo
	next     int
	pl       *interpodaffinity.Plugin
	statuses []*fwk.Status
	scores   []int64
}

func newSteadyCluster(tb testing.TB, nodes int, like *v1.Pod) *steadyCluster {
	c := &steadyCluster{statuses: make([]*fwk.Status, nodes), scores: make([]int64, nodes)}
	for i := range nodes {
		info := node(fmt.Sprintf("n%d", i), fmt.Sprintf("host=n%d zone=z%d", i, i%10), pod(fmt.Sprintf("plain%d", i), "web"))
		if i%3 == 0 {
			info.AddPod(with(like, func(p *v1.Pod) { p.Name, p.UID = fmt.Sprintf("like%d", i), "" }))
		}
		c.infos = append(c.infos, info)
	}
	c.slots.Fill(c.infos)
	handle := &fixture.Handle{Snapshot: &c.slots, Informers: fixture.Informers(tb, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}})}
	pl, err := interpodaffinity.New(tb.Context(), nil, handle)
	if err != nil {
		tb.Fatal(err)
	}
	c.pl = pl.(*interpodaffinity.Plugin)
	return c
}

// change alternates between adding pods to nodes and taking them away.
func (c *steadyCluster) change(other fwk.PodInfo) {
	slot := c.next % len(c.infos)
	if c.next/len(c.infos)%2 == 0 {
		c.infos[slot].AddPodInfo(other)
	} else if err := c.infos[slot].RemovePod(klog.Logger{}, other.GetPod()); err != nil {
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
		"plain":                             pod("p", "web"),
		"required anti-affinity on host":    pod("p", "db", from(term("host", "db"))),
		"required affinity on zone":         pod("p", "db", to(term("zone", "db"))),
		"preferred affinity on zone":        pod("p", "db", rather(weighted(5, term("zone", "db")))),
		"preferred anti-affinity on host":   pod("p", "db", rarely(weighted(5, term("host", "db")))),
		"anti-affinity, and zone preferred": pod("p", "db", from(term("host", "db")), rather(weighted(5, term("zone", "web")))),
	}
}

// BenchmarkDecision is the share of the plugin in the decision about one pod, all nodes scored, after one change.
func BenchmarkDecision(b *testing.B) {
	for _, nodes := range []int{5000, 15000} {
		for name, incoming := range steadyPods() {
			b.Run(fmt.Sprintf("%d nodes/%s", nodes, name), func(b *testing.B) {
				c := newSteadyCluster(b, nodes, incoming)
				other := podInfo(b, with(incoming, func(p *v1.Pod) { p.Name = "other" }))
				c.decide(b, incoming)
				b.ReportAllocs()
				for b.Loop() {
					c.change(other)
					c.decide(b, incoming)
				}
			})
		}
	}
}

func TestDecisionsAllocateLittle(t *testing.T) {
	for name, incoming := range steadyPods() {
		t.Run(name, func(t *testing.T) {
			c := newSteadyCluster(t, 100, incoming)
			c.decide(t, incoming)
			limit := 20.0
			if name == "plain" {
				limit = 8
			}
			if allocs := testing.AllocsPerRun(100, func() { c.slots.Touch(1); c.decide(t, incoming) }); allocs > limit {
				t.Errorf("a decision allocates %v times, want at most %v", allocs, limit)
			}
		})
	}
}
