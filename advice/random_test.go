// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package advice

import (
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/whatif"
)

// TestRandomPods checks the advice for random waiting pods: with every suggestion a node takes the pod, and nothing smaller does.
// PODS says how many pods of each plugin.
func TestRandomPods(t *testing.T) {
	perPlugin := podsOfEach(t)
	for _, plugin := range slices.Sorted(maps.Keys(causes())) {
		t.Run(plugin, func(t *testing.T) {
			t.Parallel()
			waiting, advised, suggestions := 0, 0, 0
			for seed := uint64(1); waiting < perPlugin; seed++ {
				found := checkAdvice(t, seed, causes()[plugin])
				if found < 0 {
					continue
				}
				waiting++
				suggestions += found
				if found > 0 {
					advised++
				}
				if t.Failed() || seed > uint64(100*perPlugin) {
					break
				}
			}
			t.Logf("%d waiting pods, %d with advice, %d suggestions", waiting, advised, suggestions)
			if advised < waiting*9/10 {
				t.Errorf("there is advice for %d of %d pods", advised, waiting)
			}
		})
	}
}

// podsOfEach returns how many pods of each plugin to look at.
func podsOfEach(t *testing.T) int {
	text := os.Getenv("PODS")
	if text == "" {
		return 4
	}
	perPlugin, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("PODS: %v", err)
	}
	return perPlugin
}

// TestIncompleteObjects has objects as people write them by hand: whatever is missing, there is an answer.
func TestIncompleteObjects(t *testing.T) {
	for plugin, cause := range causes() {
		for seed := range uint64(4) {
			random := &randomCluster{Rand: rand.New(rand.NewPCG(seed, 2))}
			pod := random.build(cause)
			for _, node := range random.nodes {
				node.Labels = [...]map[string]string{nil, node.Labels}[random.IntN(2)]
				node.Status.Capacity = nil
				node.Status.Allocatable = [...]v1.ResourceList{nil, node.Status.Allocatable}[random.IntN(2)]
			}
			if affinity := pod.Spec.Affinity; affinity != nil && affinity.NodeAffinity != nil {
				for _, term := range affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
					term.MatchExpressions[0].Values = nil
				}
			}
			cluster, err := whatif.New(t.Context(), whatif.Options{Objects: random.objects, Concurrency: 1})
			if err != nil {
				t.Fatal(plugin, seed, err)
			}
			found, err := For(t.Context(), cluster, pod, Options{})
			if err != nil {
				t.Errorf("%s, seed %d: %v", plugin, seed, err)
			}
			for _, suggestion := range found {
				if suggestion.Node == "" || len(suggestion.Changes) == 0 {
					t.Errorf("%s, seed %d: suggestion %+v", plugin, seed, suggestion)
				}
			}
			if err := cluster.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// checkAdvice returns how many suggestions there are for the pod of a random cluster, or -1 if it does not wait.
func checkAdvice(t *testing.T, seed uint64, cause func(*randomCluster, *v1.Pod)) int {
	random := &randomCluster{Rand: rand.New(rand.NewPCG(seed, 0))}
	pod := random.build(cause)
	cluster, err := whatif.New(t.Context(), whatif.Options{Objects: random.objects, Concurrency: 1})
	if err != nil {
		t.Fatal(seed, err)
	}
	defer cluster.Close()
	fit, err := cluster.Fits(t.Context(), pod)
	if err != nil {
		t.Fatal(seed, err)
	}
	if fit.Reason == nil {
		return -1
	}
	found, err := find(t.Context(), cluster, pod, Options{Forks: 20000})
	if err != nil {
		t.Fatal(seed, err)
	}
	judge := &judge{T: t, seed: seed, search: search{ctx: t.Context(), view: newView(cluster.Fork(), cluster.Get(pod).(*v1.Pod))}}
	for _, made := range found {
		judge.check(made)
	}
	if len(found) > 0 {
		judge.checkNoneSmaller(found[0])
	}
	if len(found) == 0 {
		t.Logf("seed %d: no advice: %v", seed, fit.Reason)
	}
	return len(found)
}

// judge applies changes to forks of a cluster.
type judge struct {
	*testing.T
	search
	seed uint64
}

func (j *judge) fit(changes []*change) bool {
	_, fits, err := j.fits(changes)
	if err != nil {
		j.Fatal(j.seed, err)
	}
	return fits
}

func texts(changes []*change) (texts []string) {
	for _, c := range changes {
		texts = append(texts, c.Text)
	}
	return texts
}

// check checks that a suggestion helps, and that neither a part of it nor a smaller amount does.
func (j *judge) check(made solution) {
	j.Helper()
	if !j.fit(made.changes) {
		j.Errorf("seed %d: no node takes the pod after %q", j.seed, texts(made.changes))
	}
	for i, c := range made.changes {
		rest := slices.Delete(slices.Clone(made.changes), i, i+1)
		if j.fit(rest) {
			j.Errorf("seed %d: %q is enough, but %q is suggested", j.seed, texts(rest), texts(made.changes))
		}
		for name, amount := range c.needed {
			less := slices.Clone(made.changes)
			if less[i] = c.resized(c.needed.with(name, amount-1)); j.fit(less) {
				j.Errorf("seed %d: less %s than in %q is enough", j.seed, name, texts(made.changes))
			}
		}
	}
}

// checkNoneSmaller tries all combinations of fewer changes, of all that can be made to any object.
func (j *judge) checkNoneSmaller(made solution) {
	j.Helper()
	universe := j.universe()
	var try func(chosen, from []*change, size int)
	try = func(chosen, from []*change, size int) {
		if size == 0 {
			if j.fit(chosen) {
				j.Errorf("seed %d: %q is enough, but %q is suggested", j.seed, texts(chosen), texts(made.changes))
			}
			return
		}
		for i := 0; i+size <= len(from) && !j.Failed(); i++ {
			try(append(slices.Clone(chosen), from[i]), from[i+1:], size-1)
		}
	}
	for size := 1; size < min(made.size(), 3); size++ {
		try(nil, universe, size)
	}
}

// universe returns every change that is known of, whether it has to do with what blocks the pod or not.
func (j *judge) universe() []*change {
	all := union(nil, j.removeGates())
	add := func(fixes []fix) {
		for _, f := range fixes {
			all = union(all, f)
		}
	}
	add(j.claims())
	for _, node := range j.nodes {
		if here := framework.NewNodeInfo(j.on[node.Name]...); len(here.GetPods()) > 0 {
			used := here.GetRequested()
			add([]fix{{j.free(node, amounts{v1.ResourceCPU: used.GetMilliCPU(), v1.ResourceMemory: used.GetMemory(), v1.ResourcePods: int64(len(here.GetPods()))})}})
		}
		add(j.uncordon(node, nil))
		add(j.taints(node, nil))
		add(j.declare(node, nil))
		add(j.labels(node, nil))
		add(j.zone(node, nil))
		add(j.storage(node, nil))
		add(j.spread(node, nil))
		add(j.clear(node, nil))
	}
	return all
}
