// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package podtopologyspread

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
)

// newSteadyCluster returns nodes in ten zones with two pods each.
func newSteadyCluster(tb testing.TB, nodes int) *fixture.SteadyCluster {
	var infos []*framework.NodeInfo
	for i := range nodes {
		infos = append(infos, node(fmt.Sprintf("n%d", i), fmt.Sprintf("z%d", i%10), "web", "db"))
	}
	informers := fixture.Informers(tb, &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"},
		Spec:       v1.ServiceSpec{Selector: labelMap("app", "web")},
	})
	return fixture.NewSteadyCluster(tb, infos, New, informers)
}

func steadyPods() map[string]*v1.Pod {
	return map[string]*v1.Pod{
		"plain":                     labelled("p", "app", "none"),
		"defaults":                  web(),
		"hard zones":                web(constraintOn(1, zone, hard)),
		"hard zones and nodes":      spreadOverZonesAndNodes(hard),
		"soft zones and nodes":      spreadOverZonesAndNodes(soft),
		"hard zones and soft nodes": web(constraintOn(5, zone, hard), constraintOn(1, host, soft)),
	}
}

// BenchmarkDecision is the share of the plugin in the decision about one pod, all nodes scored, after one change.
func BenchmarkDecision(b *testing.B) {
	other, err := framework.NewPodInfo(labelled("other", "app", "web"))
	if err != nil {
		b.Fatal(err)
	}
	for _, nodes := range []int{5000, 15000} {
		for name, pod := range steadyPods() {
			b.Run(fmt.Sprintf("%d nodes/%s", nodes, name), func(b *testing.B) {
				newSteadyCluster(b, nodes).BenchmarkDecisions(b, pod, other)
			})
		}
	}
}

func TestDecisionsAllocateLittle(t *testing.T) {
	for name, pod := range steadyPods() {
		t.Run(name, func(t *testing.T) {
			// The state itself is made again every time, too.
			limit := 22.0
			if name == "plain" {
				limit = 4
			}
			newSteadyCluster(t, 100).CheckAllocations(t, pod, limit)
		})
	}
}
