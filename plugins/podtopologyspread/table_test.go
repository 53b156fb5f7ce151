// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package podtopologyspread

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugins/internal/topology"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// TestConstraintCountsKeepTheFewest moves nodes and pods at random, and compares what the counts say of domains with a look
// at all nodes.
func TestConstraintCountsKeepTheFewest(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	for range 100 {
		var nodes fixture.IndexedNodes
		shared := topology.SharedOf(&nodes, nil)
		constraint := v1.TopologySpreadConstraint{
			MaxSkew: 1, TopologyKey: "zone", WhenUnsatisfiable: v1.DoNotSchedule,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		}
		pod := objects.Pod("p").With(func(pod *v1.Pod) {
			pod.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{constraint}
			pod.Spec.NodeSelector = map[string]string{"usable": "yes"}
		}).Build()
		constraints, err := ownConstraints(pod, v1.DoNotSchedule)
		if err != nil {
			t.Fatal(err)
		}
		table := newTable(newRules(pod, constraints, true), shared, true, once{shared: shared})
		for range 100 {
			for range 1 + random.IntN(3) {
				change(random, &nodes)
			}
			table.sync(shared)
			checkCounts(t, &table.counts[0], &nodes)
		}
	}
}

// change replaces a node, its labels or its pods, at random.
func change(random *rand.Rand, nodes *fixture.IndexedNodes) {
	index := random.IntN(12)
	if random.IntN(8) == 0 {
		nodes.Set(index, nil)
		return
	}
	labels := map[string]string{"usable": "yes"}
	if random.IntN(8) > 0 {
		labels["zone"] = fmt.Sprintf("z%d", random.IntN(6))
	}
	if random.IntN(8) == 0 {
		labels["usable"] = "no"
	}
	var pods []*v1.Pod
	for i := range random.IntN(4) {
		pods = append(pods, objects.Pod(fmt.Sprintf("p%d", i)).With(withLabels(map[string]string{"app": []string{"web", "web", "db"}[random.IntN(3)]})).Build())
	}
	nodes.Set(index, fixture.NodeInfo(nodeLabelled(fmt.Sprintf("n%d", index), labels), pods...))
}

func checkCounts(t *testing.T, c *constraintCounts, nodes *fixture.IndexedNodes) {
	t.Helper()
	sums := map[string]int64{}
	for _, info := range nodes.Infos() {
		value, ok := info.Node().Labels["zone"]
		if !ok || info.Node().Labels["usable"] != "yes" {
			continue
		}
		sums[value] += 0
		for _, pod := range info.GetPods() {
			if pod.GetPod().Labels["app"] == "web" {
				sums[value]++
			}
		}
	}
	fewest := int64(math.MaxInt32)
	for value, sum := range sums {
		if got, known := c.sum(value); !known || got != sum {
			t.Fatalf("domain %s has sum %d, %v, want %d", value, got, known, sum)
		}
		fewest = min(fewest, sum)
	}
	if c.placement.known != len(sums) || c.fewest() != fewest {
		t.Fatalf("got %d domains, the fewest pods %d; want %d, %d", c.placement.known, c.fewest(), len(sums), fewest)
	}
}

func TestRounded(t *testing.T) {
	for _, score := range []float64{0, 0.49, 0.5, 0.51, 1.5, 2.5, -0.5, -1.5, 8.996, 1<<52 + 1, 1 << 60} {
		if got, want := rounded(score), int64(math.Round(score)); got != want {
			t.Errorf("%v is rounded to %d, want %d", score, got, want)
		}
	}
}
