// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// batches writes down what it is told in batches, and what one by one.
type batches struct {
	NopQueueObserver
	single, together []string
	largest          int
}

func (b *batches) PodMoved(move PodMove) { b.single = append(b.single, move.Pod.Pod.Name) }

func (b *batches) PodsMoved(moves []PodMove) {
	b.largest = max(b.largest, len(moves))
	for _, move := range moves {
		b.together = append(b.together, fmt.Sprintf("%s: %s -> %s", move.Pod.Pod.Name, move.From, move.To))
	}
}

// Many pods that wake at once do so in the order in which they came, whatever their classes, and are then popped by
// priority and time.
func TestManyPodsWakeInTheOrderInWhichTheyCame(t *testing.T) {
	const pods = 1000
	random := rand.New(rand.NewPCG(1, 2))
	rejects := false
	gating := rejectingWhile("Gate", &rejects, volumeAdded)
	gating.preEnqueue = func(pod *v1.Pod) *fwk.Status {
		if rejects && pod.Labels["gated"] == "yes" {
			return rejection()
		}
		return nil
	}
	f := newFixture(t, withClasses(plugin("P", nodeAdded, nil), plugin("Q", nodeAdded, nil), gating))
	var wantTold, wantPopped []string
	byPriority := map[int32][]string{}
	for i := range pods {
		pod := objects.Pod(fmt.Sprint("pod", i)).Priority(random.Int32N(3)).Label("shape", fmt.Sprint(i%7)).Build()
		rejectors, to := []string{"P", "Q", "*P"}[i%3:i%3+1], PoolActive
		if i%5 == 0 {
			rejectors = []string{"P", "Q"}
		}
		if i%11 == 0 {
			pod.Labels["gated"], to = "yes", PoolGated
		} else {
			byPriority[*pod.Spec.Priority] = append(byPriority[*pod.Spec.Priority], pod.Name)
		}
		f.park(pod, rejectors...)
		wantTold = append(wantTold, fmt.Sprintf("%s: unschedulable -> %s", pod.Name, to))
		f.step(time.Millisecond)
	}
	for _, value := range []int32{2, 1, 0} {
		wantPopped = append(wantPopped, byPriority[value]...)
	}
	f.step(time.Minute)
	rejects = true
	seen := &batches{}
	f.observe(seen)
	f.Move(nodeAdded, nil, node, nil)
	checkIntegrity(t, f.Queue)
	wantEqual(t, "pods observed one by one", len(seen.single), 0)
	wantEqual(t, "pods in the largest batch", seen.largest, defaultMaxBatch)
	wantEqual(t, "pods observed", seen.together, wantTold)
	wantEqual(t, "cost", f.Stats().LastEvent.Woken, pods)
	f.observe(nil)
	wantEqual(t, "pods popped", f.popOrder(), wantPopped)

	f.observe(seen)
	seen.together = nil
	f.Move(volumeAdded, nil, node, nil) // wakes them in vain
	checkIntegrity(t, f.Queue)
	wantEqual(t, "pods observed when the gate stays shut", len(seen.together), 0)
	rejects = false
	f.Move(volumeAdded, nil, node, nil)
	checkIntegrity(t, f.Queue)
	wantEqual(t, "pods that wait", f.Stats().Gated, 0)
}

func TestJoinedObserversAreToldOfBatches(t *testing.T) {
	together, single := &batches{}, &script{}
	f := newFixture(t, withPlugins(plugin("P", nodeAdded, nil)))
	f.parkReady(objects.Pod("a").Build(), "P")
	f.parkReady(objects.Pod("b").Build(), "P")
	f.observe(JoinObservers(together, single))
	f.Move(nodeAdded, nil, node, nil)
	wantEqual(t, "told together", together.together, []string{"a: unschedulable -> active", "b: unschedulable -> active"})
	wantEqual(t, "told one by one", single.lines[len(single.lines)-2:], []string{
		"a: unschedulable -> active by NodeAdd AfterBackoff of P", "b: unschedulable -> active by NodeAdd AfterBackoff of P",
	})
}

// The list of waiting pods is in order however they come and go.
func TestWaitingList(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	var list waitingList
	var want []*queuedPod
	for i := range 3000 {
		if random.IntN(3) == 0 && len(want) > 0 {
			gone := random.IntN(len(want))
			list.remove(want[gone])
			want = slices.Delete(want, gone, gone+1)
		} else {
			pod := (&Queue{}).newQueuedPod(infoAt(start.Add(time.Duration(random.IntN(50))*time.Second)), PoolUnschedulable)
			pod.order = uint64(i)
			list.add(pod)
			want = append(want, pod)
			slices.SortFunc(want, func(a, b *queuedPod) int {
				if longestWaiting(a, b) {
					return -1
				}
				return 1
			})
		}
		if got := slices.Collect(list.all); !slices.Equal(got, want) {
			t.Fatalf("after %d operations the list has %d pods, want %d, or is not in order", i+1, len(got), len(want))
		}
	}
}

// What events cost in allocations does not depend on how many pods wait, nor on how many of them wake.
func TestEventsAllocateNothing(t *testing.T) {
	const runs, pods = 3, 500
	skip := answering(fwk.QueueSkip, nil)
	plugins := []*testPlugin{plugin("Others", nodeLabel, nil), plugin("Skips", unregistered, skip), plugin("Wakes", volumeAdded, nil)}
	for run := range runs + 1 {
		plugins = append(plugins, plugin(fmt.Sprint("Wakes", run), wakes(run), nil))
	}
	options := withClasses(plugins...)
	options.MaxBackoff, options.Observer = -1, NopQueueObserver{}
	options.Clock = testingclock.NewFakePassiveClock(start)
	q, err := New(context.Background(), options)
	if err != nil {
		t.Fatal(err)
	}
	park := func(rejector func(name string) string) {
		for info := q.TryPop(); info != nil; info = q.TryPop() {
			info.UnschedulablePlugins.Clear()
			info.UnschedulablePlugins.Insert(rejector(info.Pod.Labels["run"]))
			if err := q.AddUnschedulable(info); err != nil {
				t.Fatal(err)
			}
		}
	}
	for run := range runs + 1 {
		for i := range pods {
			q.Add(objects.Pod(fmt.Sprintf("pod-%d-%d", run, i)).Label("shape", fmt.Sprint(i%50)).Label("run", fmt.Sprint(run)).Build())
		}
	}
	park(func(string) string { return "Wakes" })
	q.Move(volumeAdded, nil, node, nil) // makes room for all of them
	park(func(string) string { return "Skips" })
	wantEqual(t, "allocations of an event that no rejecting plugin registered",
		testing.AllocsPerRun(100, func() { q.Move(nodeLabel, node, node, nil) }), 0)
	wantEqual(t, "allocations of an event that wakes no pod",
		testing.AllocsPerRun(100, func() { q.Move(unregistered, node, node, nil) }), 0)
	wantEqual(t, "classes that were asked about", q.Stats().LastEvent.Classes, 50)

	activated := map[string]*v1.Pod{}
	all, _ := q.PendingPods()
	for _, pod := range all {
		activated[pod.Name] = pod
	}
	q.Activate(q.logger, activated)
	for run := range runs + 1 {
		q.events.pluginsFor(wakes(run)) // which is worked out once for every kind of event
	}
	park(func(run string) string { return "Wakes" + run })
	var waking []fwk.ClusterEvent
	for run := range runs + 1 {
		waking = append(waking, wakes(run))
	}
	run := 0
	wantEqual(t, "allocations of an event that wakes many",
		testing.AllocsPerRun(runs, func() { q.Move(waking[run], node, node, nil); run++ }), 0)
	wantEqual(t, "active pods", q.Stats().Active, (runs+1)*pods)
}

var unregistered = fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.UpdateNodeTaint}

// wakes is one of several events.
func wakes(run int) fwk.ClusterEvent {
	return fwk.ClusterEvent{Resource: fwk.EventResource(fmt.Sprint("kind", run)), ActionType: fwk.Add}
}
