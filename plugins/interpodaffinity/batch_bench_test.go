// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package interpodaffinity

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// newSteadyCluster returns nodes with a pod each; on every third node is a pod like the one to be scheduled as well.
func newSteadyCluster(tb testing.TB, nodes int, like *v1.Pod) *fixture.SteadyCluster {
	var infos []*framework.NodeInfo
	for i := range nodes {
		info := node(fmt.Sprintf("n%d", i), fmt.Sprintf("host=n%d zone=z%d", i, i%10), objects.Pod(fmt.Sprintf("plain%d", i)).Label("app", "web").Build())
		if i%3 == 0 {
			info.AddPod(objects.PodFrom(like).With(func(p *v1.Pod) { p.Name, p.UID = fmt.Sprintf("like%d", i), "" }).Build())
		}
		infos = append(infos, info)
	}
	informers := fixture.Informers(tb, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}})
	return fixture.NewSteadyCluster(tb, infos, New, informers)
}

func steadyPods() map[string]*v1.Pod {
	return map[string]*v1.Pod{
		"plain":                             objects.Pod("p").Label("app", "web").Build(),
		"required anti-affinity on host":    objects.Pod("p").Label("app", "db").With(from(term("host", "db"))).Build(),
		"required affinity on zone":         objects.Pod("p").Label("app", "db").With(to(term("zone", "db"))).Build(),
		"preferred affinity on zone":        objects.Pod("p").Label("app", "db").With(rather(weighted(5, term("zone", "db")))).Build(),
		"preferred anti-affinity on host":   objects.Pod("p").Label("app", "db").With(rarely(weighted(5, term("host", "db")))).Build(),
		"anti-affinity, and zone preferred": objects.Pod("p").Label("app", "db").With(from(term("host", "db"))).With(rather(weighted(5, term("zone", "web")))).Build(),
	}
}

// BenchmarkDecision is the share of the plugin in the decision about one pod, all nodes scored, after one change.
func BenchmarkDecision(b *testing.B) {
	for _, nodes := range []int{5000, 15000} {
		for name, incoming := range steadyPods() {
			b.Run(fmt.Sprintf("%d nodes/%s", nodes, name), func(b *testing.B) {
				other := podInfo(b, objects.PodFrom(incoming).With(func(p *v1.Pod) { p.Name = "other" }).Build())
				newSteadyCluster(b, nodes, incoming).BenchmarkDecisions(b, incoming, other)
			})
		}
	}
}

func TestDecisionsAllocateLittle(t *testing.T) {
	for name, incoming := range steadyPods() {
		t.Run(name, func(t *testing.T) {
			limit := 24.0
			if name == "plain" {
				limit = 8
			}
			newSteadyCluster(t, 100, incoming).CheckAllocations(t, incoming, limit)
		})
	}
}

func TestDecisionsAllocateTheSameOnManyNodes(t *testing.T) {
	incoming := steadyPods()["required anti-affinity on host"]
	newSteadyCluster(t, 3000, incoming).CheckAllocatedBytes(t, incoming, 3000)
}
