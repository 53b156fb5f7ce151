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
)

// newSteadyCluster returns nodes with a pod each; on every third node is a pod like the one to be scheduled as well.
func newSteadyCluster(tb testing.TB, nodes int, like *v1.Pod) *fixture.SteadyCluster {
	var infos []*framework.NodeInfo
	for i := range nodes {
		info := node(fmt.Sprintf("n%d", i), fmt.Sprintf("host=n%d zone=z%d", i, i%10), pod(fmt.Sprintf("plain%d", i), "web"))
		if i%3 == 0 {
			info.AddPod(with(like, func(p *v1.Pod) { p.Name, p.UID = fmt.Sprintf("like%d", i), "" }))
		}
		infos = append(infos, info)
	}
	informers := fixture.Informers(tb, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}})
	return fixture.NewSteadyCluster(tb, infos, New, informers)
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
				other := podInfo(b, with(incoming, func(p *v1.Pod) { p.Name = "other" }))
				newSteadyCluster(b, nodes, incoming).BenchmarkDecisions(b, incoming, other)
			})
		}
	}
}

func TestDecisionsAllocateLittle(t *testing.T) {
	for name, incoming := range steadyPods() {
		t.Run(name, func(t *testing.T) {
			limit := 20.0
			if name == "plain" {
				limit = 8
			}
			newSteadyCluster(t, 100, incoming).CheckAllocations(t, incoming, limit)
		})
	}
}
