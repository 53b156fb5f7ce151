// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/simulate"
)

// crowd is a cluster that is too small for its pods, which have different priorities and disruption budgets. It follows by
// itself who is where, from the trace.
type crowd struct {
	t      *testing.T
	specs  map[string]crowdPod
	placed map[string]string // pod -> node
	budget map[string]int    // app -> pods that have to be available
	gone   map[string]bool

	preemptor, target  string // of the preemption that is being carried out
	preempted, avoided int
}

type crowdPod struct {
	app      string
	cpu      int
	priority int32
}

const (
	crowdNodes = 10
	nodeCPU    = 8
)

// observe follows the trace.
func (c *crowd) observe(entry simulate.TraceEntry) {
	switch entry.What {
	case simulate.WhatBound:
		c.placed[entry.Pod] = entry.Node
	case simulate.WhatRejected:
		if _, after, found := strings.Cut(entry.Message, "found a potential placement for pod on node "); found {
			c.preemptor = entry.Pod
			c.target, _, _ = strings.Cut(after, ",")
		}
	case simulate.WhatPreempted:
		c.preempted++
		c.checkVictim(entry.Pod)
		delete(c.placed, entry.Pod)
		c.gone[entry.Pod] = true
	}
}

func (c *crowd) checkVictim(victim string) {
	if c.placed[victim] != c.target {
		c.t.Errorf("%s was evicted from %s, but %s preempts on %s", victim, c.placed[victim], c.preemptor, c.target)
	}
	preemptor := c.specs[c.preemptor]
	if c.specs[victim].priority >= preemptor.priority {
		c.t.Errorf("%s of priority %d was evicted for %s of priority %d", victim, c.specs[victim].priority, c.preemptor, preemptor.priority)
	}
	if c.allowed()[c.specs[victim].app] > 0 {
		c.avoided++
		return
	}
	for node := range crowdNodes {
		if name := fmt.Sprintf("n%d", node); name != c.target && c.roomWithin(name, preemptor) {
			c.t.Errorf("%s was evicted for %s against its budget, but node %s could have made room within all budgets", victim, c.preemptor, name)
		}
	}
}

// allowed returns how many pods of each app may go; apps without a budget have no limit.
func (c *crowd) allowed() map[string]int {
	left := map[string]int{"a": -c.budget["a"], "b": -c.budget["b"], "free": 1 << 20}
	for pod := range c.placed {
		left[c.specs[pod].app]++
	}
	return left
}

// roomWithin reports whether a pod fits a node if less important pods go whose budgets allow it.
func (c *crowd) roomWithin(node string, preemptor crowdPod) bool {
	free, left := nodeCPU, c.allowed()
	byApp := map[string][]int{}
	for pod, where := range c.placed {
		if spec := c.specs[pod]; where == node {
			free -= spec.cpu
			if spec.priority < preemptor.priority {
				byApp[spec.app] = append(byApp[spec.app], spec.cpu)
			}
		}
	}
	for app, sizes := range byApp {
		if len(sizes) <= left[app] { // only if all of them may go: which ones do is up to the scheduler
			for _, size := range sizes {
				free += size
			}
		}
	}
	return free >= preemptor.cpu
}

// TestPreemptionOfARandomCrowd adds pods one by one. None is lost, none gives way to one that is not more important, and no
// budget is broken where there is another choice.
func TestPreemptionOfARandomCrowd(t *testing.T) {
	for seed := range uint64(4) {
		random := rand.New(rand.NewPCG(seed, 7))
		c := &crowd{
			t: t, specs: map[string]crowdPod{}, placed: map[string]string{}, gone: map[string]bool{},
			budget: map[string]int{"a": 3, "b": 6},
		}
		cluster, err := simulate.NewCluster(t.Context(), simulate.Options{Seed: seed, Observer: c.observe})
		if err != nil {
			t.Fatal(err)
		}
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		for i := range crowdNodes {
			must(cluster.Create(objects.Node(fmt.Sprintf("n%d", i)).Capacity("cpu", strconv.Itoa(nodeCPU)).Build()))
		}
		for app, available := range c.budget {
			must(cluster.Create(budget(app, func(b *policyv1.PodDisruptionBudget) {
				b.Spec.Selector.MatchLabels["app"] = app
				b.Spec.MinAvailable = ptr.To(intstr.FromInt(available))
			})))
		}
		for i := range 80 {
			name := fmt.Sprintf("p%d", i)
			spec := crowdPod{app: []string{"a", "b", "free"}[random.IntN(3)], cpu: 1 + random.IntN(4), priority: []int32{0, 10, 100}[random.IntN(3)]}
			c.specs["default/"+name] = spec
			must(cluster.Create(objects.Pod(name).Label("app", spec.app).Priority(spec.priority).Requests("cpu", strconv.Itoa(spec.cpu)).Build()))
			must(cluster.Settle())
		}
		waiting := 0
		for _, pod := range cluster.Report().Pods {
			name := pod.Namespace + "/" + pod.Name
			switch {
			case pod.Pool == simulate.PoolBound && c.placed[name] == pod.Node, pod.Pool == simulate.PoolDeleted && c.gone[name]:
			case pod.Pool == simulate.PoolUnschedulable && len(pod.RejectedBy) > 0:
				waiting++
			default:
				t.Errorf("pod %s is lost: %+v", name, pod)
			}
		}
		if len(cluster.Report().Pods) != len(c.specs) {
			t.Errorf("%d pods are left of %d", len(cluster.Report().Pods), len(c.specs))
		}
		if c.preempted == 0 || c.avoided == 0 || waiting == 0 {
			t.Errorf("seed %d: the crowd is too small to show anything: %d were preempted, %d within their budgets, %d wait", seed, c.preempted, c.avoided, waiting)
		}
		cluster.Close()
	}
}
