// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// Everything at once must neither lose a pod nor have it in two places.
func TestConcurrentUse(t *testing.T) {
	const pods, rounds, poppers = 40, 300, 3
	updated := fwk.ClusterEvent{Resource: fwk.TargetPod, ActionType: fwk.Update}
	options := withClasses(plugin("P", nodeAdded, nil), plugin("Q", updated, nil))
	clock := testingclock.NewFakePassiveClock(start)
	options.Clock, options.MaxInFlightEvents = clock, 50
	q, err := New(context.Background(), options)
	if err != nil {
		t.Fatal(err)
	}
	var flying sync.Map
	var pops atomic.Int64
	var done, popping sync.WaitGroup
	for p := range poppers {
		popping.Go(func() { popAndGiveBack(t, q, p, &flying, &pops) })
	}
	name := func(i int) string { return fmt.Sprint("pod", i%pods) }
	for i := range pods {
		q.Add(objects.Pod(name(i)).Build())
	}
	for _, work := range []func(i int){
		func(i int) {
			oldPod, newPod := objects.Pod(name(i)).Build(), objects.Pod(name(i)).Label("shape", fmt.Sprint(i%3)).Priority(int32(i%5)).Build()
			newPod.Spec.Tolerations = []v1.Toleration{{Key: "a second event"}}
			q.Update(oldPod, newPod)
		},
		func(i int) { q.Move(nodeAdded, nil, node, nil) },
		func(i int) { q.Activate(klog.Logger{}, map[string]*v1.Pod{"": objects.Pod(name(i)).Build()}) },
		func(i int) {
			clock.SetTime(start.Add(time.Duration(i) * 10 * time.Second))
			q.FlushBackoff()
			q.FlushUnschedulable()
		},
		func(i int) {
			q.AddNominatedPod(klog.Logger{}, podInfo(objects.Pod(name(i)).Build()), override("node"))
			q.NominatedPodsForNode("node")
			q.Lookup("default", name(i))
			q.Stats()
			q.PendingPods()
			q.nextFlush()
		},
	} {
		done.Go(func() {
			for i := range rounds {
				work(i)
			}
		})
	}
	done.Wait()
	q.Close()
	popping.Wait()
	checkIntegrity(t, q)
	wantEqual(t, "pods in the queue", len(q.pods), pods)
	wantEqual(t, "pods in flight", q.Stats().InFlight, 0)
	if pops.Load() == 0 {
		t.Error("nothing was popped")
	}
}

// popAndGiveBack pops pods until the queue is closed, and gives them back with changing rejectors.
func popAndGiveBack(t *testing.T, q *Queue, popper int, flying *sync.Map, pops *atomic.Int64) {
	for {
		info, err := q.Pop()
		if err != nil {
			return
		}
		pops.Add(1)
		if _, twice := flying.LoadOrStore(info.Pod.Name, true); twice {
			t.Errorf("pod %s was popped twice", info.Pod.Name)
		}
		info.UnschedulablePlugins.Clear()
		info.PendingPlugins.Clear()
		switch (info.Attempts + popper) % 4 {
		case 0:
			info.UnschedulablePlugins.Insert("P")
		case 1:
			info.PendingPlugins.Insert("P")
		case 2:
			info.UnschedulablePlugins.Insert("Q")
		}
		flying.Delete(info.Pod.Name) // it can be popped again as soon as it is given back
		if err := q.AddUnschedulable(info); err != nil {
			t.Error(err)
		}
	}
}

// An update must find the pod wherever it is between a pop and its return.
func TestConcurrentUpdateAndPop(t *testing.T) {
	q, err := New(context.Background(), Options{MaxBackoff: -1})
	if err != nil {
		t.Fatal(err)
	}
	var versions sync.WaitGroup
	q.Add(objects.Pod("pod").Build())
	versions.Go(func() {
		oldPod := objects.Pod("pod").Build()
		for i := range 2000 {
			newPod := objects.Pod("pod").Label("version", fmt.Sprint(i)).Build()
			q.Update(oldPod, newPod)
			oldPod = newPod
		}
	})
	versions.Go(func() {
		for range 2000 {
			info := q.TryPop()
			if info == nil {
				t.Error("the pod is lost")
				return
			}
			if err := q.AddUnschedulable(info); err != nil {
				t.Error(err)
			}
		}
	})
	versions.Wait()
	checkIntegrity(t, q)
	wantEqual(t, "pods", q.Stats(), Stats{Active: 1, SchedulingCycles: 2000})
}
