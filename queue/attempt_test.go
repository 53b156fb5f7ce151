// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

func TestReturnedPodGoesWhereItsRejectorsSay(t *testing.T) {
	queue, skip := answering(fwk.Queue, nil), answering(fwk.QueueSkip, nil)
	happens := []fwk.ClusterEvent{nodeAdded}
	tests := []struct {
		name      string
		hint      fwk.QueueingHintFn
		before    []fwk.ClusterEvent // happen before the pod is popped
		during    []fwk.ClusterEvent
		rejectors []string
		want      Pool
	}{
		{name: "an error backs off", want: PoolBackoff},
		{name: "an error backs off, whatever happened", hint: skip, during: happens, want: PoolBackoff},
		{name: "without an event it waits", hint: queue, rejectors: []string{"P"}, want: PoolUnschedulable},
		{name: "an event before the attempt does not matter", hint: queue, before: happens, rejectors: []string{"P"}, want: PoolUnschedulable},
		{name: "nor does one that the hint skips", hint: skip, during: happens, rejectors: []string{"P"}, want: PoolUnschedulable},
		{name: "nor does one that another plugin waits for", hint: queue, during: happens, rejectors: []string{"Q"}, want: PoolUnschedulable},
		{name: "nor does one that no plugin registered", hint: queue, during: []fwk.ClusterEvent{nodeLabel}, rejectors: []string{"P"}, want: PoolUnschedulable},
		{name: "one that the hint wants does", hint: queue, during: happens, rejectors: []string{"P"}, want: PoolBackoff},
		{name: "so does one whose hint fails", hint: answering(fwk.QueueSkip, errors.New("broken")), during: happens, rejectors: []string{"P"}, want: PoolBackoff},
		{name: "so does one without a hint", during: happens, rejectors: []string{"P"}, want: PoolBackoff},
		{name: "a pending plugin skips the backoff", hint: queue, during: happens, rejectors: []string{"*P"}, want: PoolActive},
		{name: "also with one that does not", hint: queue, during: []fwk.ClusterEvent{volumeAdded, nodeAdded}, rejectors: []string{"*P", "Q"}, want: PoolActive},
		{name: "and with one that no event concerns", hint: queue, during: []fwk.ClusterEvent{volumeAdded}, rejectors: []string{"*P", "Q"}, want: PoolBackoff},
		{name: "a wildcard does", hint: skip, during: []fwk.ClusterEvent{framework.EventUnschedulableTimeout()}, rejectors: []string{"P"}, want: PoolBackoff},
		{name: "a wildcard does for a pending plugin, after the backoff", hint: skip, during: []fwk.ClusterEvent{framework.EventUnschedulableTimeout()}, rejectors: []string{"*P"}, want: PoolBackoff},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t, withPlugins(plugin("P", nodeAdded, test.hint), plugin("Q", volumeAdded, nil)))
			f.Add(objects.Pod("pod").Build())
			for _, event := range test.before {
				f.Move(event, nil, nil, nil)
			}
			info := f.pop("pod")
			for _, event := range test.during {
				f.Move(event, nil, nil, nil)
			}
			f.giveBack(info, test.rejectors...)
			f.wantPool("pod", test.want)
			wantEqual(t, "pods in flight", f.Stats().InFlight, 0)
		})
	}
}

func TestEventIsKeptOnlyIfAPluginWaitsForIt(t *testing.T) {
	f := newFixture(t, withPlugins(plugin("P", nodeAdded, nil)))
	f.Move(nodeAdded, nil, node, nil)
	wantEqual(t, "events kept while nothing is in flight", f.Stats().InFlightEvents, 0)
	f.Add(objects.Pod("pod").Build())
	f.pop("pod")
	for _, test := range []struct {
		event fwk.ClusterEvent
		want  int
	}{{nodeLabel, 0}, {nodeAdded, 1}, {framework.EventForceActivate(), 2}} {
		f.Move(test.event, nil, node, func(*v1.Pod) bool { return false })
		wantEqual(t, "events kept after "+test.event.Label(), f.Stats().InFlightEvents, test.want)
	}
}

func TestEventsGoWithTheOldestPodInFlight(t *testing.T) {
	f := newFixture(t, withPlugins(plugin("P", nodeAdded, nil)))
	for _, name := range []string{"first", "second", "third"} {
		f.Add(objects.Pod(name).Build())
		f.pop(name)
		f.Move(nodeAdded, nil, node, nil)
	}
	for _, step := range []struct {
		done string
		want int
	}{{"second", 3}, {"first", 1}, {"first", 1}, {"unknown", 1}, {"third", 0}} {
		f.Done(objects.Pod(step.done).Build().UID)
		wantEqual(t, "events kept after "+step.done+" is done", f.Stats().InFlightEvents, step.want)
		wantEqual(t, "events observed", f.seen.flyingSeen, step.want)
	}
}

func TestEventSeenByAnOlderAttemptCountsForAll(t *testing.T) {
	f := newFixture(t, withPlugins(plugin("P", nodeAdded, nil)))
	f.Add(objects.Pod("older").Build())
	older := f.pop("older")
	f.Move(nodeAdded, nil, node, nil)
	f.Add(objects.Pod("newer").Build())
	newer := f.pop("newer")
	f.giveBack(newer, "P")
	f.giveBack(older, "P")
	f.wantPool("newer", PoolUnschedulable)
	f.wantPool("older", PoolBackoff)
}

func TestEventsInFlightAreBounded(t *testing.T) {
	const events = 1_000_000
	options := withPlugins(plugin("P", nodeAdded, answering(fwk.QueueSkip, nil)))
	options.MaxInFlightEvents = 100
	f := newFixture(t, options)
	f.Add(objects.Pod("stuck").Build())
	stuck := f.pop("stuck")
	f.Add(objects.Pod("late").Build())
	var late *framework.QueuedPodInfo
	for i := range events {
		if i == events-10 {
			late = f.pop("late")
		}
		f.Move(nodeAdded, nil, node, nil)
	}
	wantEqual(t, "events kept", f.Stats().InFlightEvents, 10)
	f.giveBack(stuck, "P")
	f.giveBack(late, "P")
	f.wantPool("stuck", PoolBackoff) // what it missed is not known
	f.wantPool("late", PoolUnschedulable)
}

// A pod that is in flight for a million events, each with objects of its own, keeps less than 16 MB of them, and is not
// forgotten.
func TestEventsInFlightTakeLittleMemory(t *testing.T) {
	pod := objects.Pod("assigned").Label("app", "web").Build()
	pod.Spec.Containers = make([]v1.Container, 2)
	large := node.DeepCopy()
	for i := range 50 {
		large.Status.Images = append(large.Status.Images, v1.ContainerImage{Names: []string{fmt.Sprintf("registry/image:%0100d", i)}})
	}
	for _, test := range []struct {
		name   string
		events int
		object func() any
	}{
		{"pods", 1_000_000, func() any { version := *pod; return &version }},
		{"nodes", 20_000, func() any { return large.DeepCopy() }},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t, withPlugins(plugin("P", nodeAdded, answering(fwk.QueueSkip, nil))))
			f.Add(objects.Pod("stuck").Build())
			stuck := f.pop("stuck")
			f.Add(objects.Pod("newer").Build())
			before, most := memoryInUse(), uint64(0)
			for i := range test.events {
				f.Move(nodeAdded, test.object(), test.object(), nil)
				if i < 20_000 && i%1_000 == 0 || i == test.events-1 {
					most = max(most, memoryInUse())
				}
			}
			if grown := int64(most) - int64(before); grown > 16<<20 {
				t.Errorf("events in flight take %d bytes, want at most 16 MiB", grown)
			}
			newer := f.pop("newer")
			f.Move(nodeAdded, test.object(), test.object(), nil)
			f.giveBack(stuck, "P")
			f.giveBack(newer, "P")
			f.wantPool("stuck", PoolBackoff) // what it missed is not known
			f.wantPool("newer", PoolUnschedulable)
			wantEqual(t, "bytes of events that no pod needs", f.inFlight.bytes, 0)
		})
	}
}

func memoryInUse() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

func TestUpdateInFlightIsAskedAboutForThatPodOnly(t *testing.T) {
	f := newFixture(t, withPlugins(plugin("P", targetLabel, nil)))
	pod := objects.Pod("pod").Build()
	f.Add(pod)
	info := f.pop("pod")
	f.Add(objects.Pod("other").Build())
	other := f.pop("other")
	f.Update(pod, objects.PodFrom(pod).Label("a", "b").Build())
	f.wantPool("pod", PoolInFlight)
	f.giveBack(other, "P")
	f.giveBack(info, "P")
	f.wantPool("other", PoolUnschedulable)
	f.wantPool("pod", PoolBackoff)
}

func TestUpdateInFlightThatNoPluginWaitsForIsKeptAllTheSame(t *testing.T) {
	f := newFixture(t, Options{})
	pod := objects.Pod("pod").Build()
	f.Add(pod)
	info := f.pop("pod")
	f.Update(pod, objects.PodFrom(pod).Label("a", "b").Build())
	wantEqual(t, "events kept", f.Stats().InFlightEvents, 1)
	f.giveBack(info, "P")
	f.wantPool("pod", PoolUnschedulable)
}

func TestGivingBackAPodThatIsQueuedIsAnError(t *testing.T) {
	for _, test := range []struct {
		rejectors []string
		want      Pool
	}{{nil, PoolBackoff}, {[]string{"P"}, PoolUnschedulable}, {[]string{"active"}, PoolActive}} {
		t.Run(string(test.want), func(t *testing.T) {
			f := newFixture(t, Options{})
			f.Add(objects.Pod("pod").Build())
			info := f.pop("pod")
			if test.want == PoolActive {
				f.Add(objects.Pod("pod").Build())
			} else {
				f.giveBack(info, test.rejectors...)
			}
			err := f.AddUnschedulable(framework.NewQueuedPodInfo(objects.Pod("pod").Build(), start))
			if want := "default/pod is already present in the " + string(test.want) + " queue"; err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want %q", err, want)
			}
			f.wantPool("pod", test.want)
			wantEqual(t, "pods in flight", f.Stats().InFlight, 0)
		})
	}
}

// TestUpdateOfAPodThatIsBoundDoesNotQueueIt has a pod updated between the end of its events and the failure of its binding,
// when the cache no longer counts it.
func TestUpdateOfAPodThatIsBoundDoesNotQueueIt(t *testing.T) {
	f := newFixture(t, withPlugins(plugin("P", nodeAdded, nil)))
	old, updated := objects.Pod("pod").Build(), objects.Pod("pod").Label("new", "").Build()
	f.Add(old)
	info := f.pop("pod")
	f.DoneWithEvents(old.UID)
	f.DoneWithEvents(old.UID)
	f.Move(nodeAdded, nil, node, nil)
	f.Update(old, updated)
	wantEqual(t, "queued pods", f.pending(), []string{})
	wantEqual(t, "pods in flight that events count for", f.Stats().InFlight, 0)
	wantEqual(t, "events kept", f.Stats().InFlightEvents, 0)
	wantEqual(t, "pods in flight, as metrics have it", f.seen.podsFlying, 0)
	f.giveBack(info)
	f.wantPool("pod", PoolBackoff)
	if status, _ := f.Lookup("default", "pod"); status.Pod != updated {
		t.Errorf("the queue has the version %v", status.Pod)
	}
	f.Done(old.UID)
	wantEqual(t, "pods in flight", len(f.inFlight.pods), 0)
	wantEqual(t, "pods in flight, as metrics have it", f.seen.podsFlying, 0)
}

// TestGivingBackTakesTheLastUpdate has a pod given back as it was looked up before its last update.
func TestGivingBackTakesTheLastUpdate(t *testing.T) {
	helps := func(_ klog.Logger, pod *v1.Pod, _, _ any) (fwk.QueueingHint, error) {
		if _, labelled := pod.Labels["new"]; labelled {
			return fwk.Queue, nil
		}
		return fwk.QueueSkip, nil
	}
	f := newFixture(t, withPlugins(plugin("P", targetLabel, helps)))
	old, updated := objects.Pod("pod").Build(), objects.Pod("pod").Label("new", "").Build()
	f.Add(old)
	info := f.pop("pod")
	f.Update(old, updated)
	f.giveBack(info, "P")
	f.wantPool("pod", PoolBackoff)
	if status, _ := f.Lookup("default", "pod"); status.Pod != updated {
		t.Errorf("the queue has the version %v", status.Pod)
	}
}

// TestPodDeletedInFlightDoesNotComeBack has a pod given back by someone who looked it up before it was deleted, or bound by
// another scheduler.
func TestPodDeletedInFlightDoesNotComeBack(t *testing.T) {
	for _, rejectors := range [][]string{nil, {"P"}} {
		f := newFixture(t, withPlugins(plugin("P", nodeAdded, nil)))
		pod := objects.Pod("pod").Build()
		f.Add(pod)
		info := f.pop("pod")
		f.Move(nodeAdded, nil, node, nil)
		f.Delete(pod)
		f.giveBack(info, rejectors...)
		wantEqual(t, "queued pods", f.pending(), []string{})
		wantEqual(t, "pods in flight", len(f.inFlight.pods), 0)
		wantEqual(t, "pods in flight, as metrics have it", f.seen.podsFlying, 0)

		f.Add(pod)
		info = f.pop("pod")
		f.Delete(pod)
		f.Add(pod) // it was not gone after all
		f.popsNothing()
		f.giveBack(info, rejectors...)
		wantEqual(t, "queued pods", f.pending(), []string{"pod"})
	}
}

func TestGivingBackAPodThatIsNotInFlightBacksOff(t *testing.T) {
	f := newFixture(t, withPlugins(plugin("P", nodeAdded, nil)))
	info := framework.NewQueuedPodInfo(objects.Pod("pod").Build(), start)
	info.UnschedulablePlugins.Insert("P")
	if err := f.AddUnschedulable(info); err != nil {
		t.Fatal(err)
	}
	f.wantPool("pod", PoolBackoff)
}

func TestGivingBackCountsAttempts(t *testing.T) {
	f := newFixture(t, Options{})
	f.Add(objects.Pod("pod").Build())
	info := f.pop("pod")
	type counts struct{ Attempts, Rejections, Errors int }
	for _, test := range []struct {
		rejectors []string
		want      counts
	}{
		{nil, counts{1, 0, 1}},
		{nil, counts{2, 0, 2}},
		{[]string{"P"}, counts{3, 1, 0}},
		{[]string{"*P"}, counts{4, 2, 0}},
		{nil, counts{5, 2, 1}},
	} {
		f.step(time.Second)
		info.WasFlushedFromUnschedulable, info.FlushTimestamp = true, start
		f.giveBack(info, test.rejectors...)
		wantEqual(t, "counts", counts{info.Attempts, info.UnschedulableCount, info.ConsecutiveErrorsCount}, test.want)
		wantEqual(t, "timestamp", info.Timestamp, f.clock.Now())
		wantEqual(t, "flushed", info.WasFlushedFromUnschedulable || !info.FlushTimestamp.IsZero(), false)
		f.Activate(klog.Logger{}, map[string]*v1.Pod{"": objects.Pod("pod").Build()})
		info = f.pop("pod")
	}
}

func TestPopKeepsRejectorsAndFirstAttempt(t *testing.T) {
	f := newFixture(t, withPlugins(plugin("P", nodeAdded, nil)))
	f.parkReady(objects.Pod("pod").Build(), "P", "*Q")
	f.Move(nodeAdded, nil, node, nil)
	info := f.pop("pod")
	wantEqual(t, "rejectors", info.RejectorPlugins(), sets.New("P", "Q"))
	wantEqual(t, "first attempt", *info.InitialAttemptTimestamp, start)
}

func TestPodInFlightIsNotPoppedTwice(t *testing.T) {
	f := newFixture(t, Options{})
	f.Add(objects.Pod("pod").Build())
	f.pop("pod")
	f.Add(objects.Pod("pod").Build())
	f.Add(objects.Pod("other").Build())
	f.pop("other")
	f.popsNothing()
	wantEqual(t, "scheduling cycles", f.Stats().SchedulingCycles, 2)
	wantEqual(t, "pods in the queue", len(f.pods), 0)
}

func TestReturnedPodIsPoppableOnlyAfterItsFlightEnded(t *testing.T) {
	f := newFixture(t, withPlugins(plugin("P", nodeAdded, nil)))
	f.Add(objects.Pod("pod").Build())
	for range 3 {
		info := f.pop("pod")
		f.Move(nodeAdded, nil, node, nil)
		f.giveBack(info, "*P")
		f.wantPool("pod", PoolActive)
	}
	f.pop("pod")
	wantEqual(t, "pods in flight", f.Stats().InFlight, 1)
}

func TestFailingPodsDoNotStarveOthers(t *testing.T) {
	f := newFixture(t, withPlugins(plugin("P", nodeAdded, nil)))
	f.Add(objects.Pod("greedy").Priority(10).Build())
	f.Add(objects.Pod("modest").Priority(1).Build())
	f.giveBack(f.pop("greedy"), "P")
	f.Move(nodeAdded, nil, node, nil)
	f.pop("modest") // because greedy backs off

	f.Add(objects.Pod("equal").Build())
	f.step(time.Second)
	f.Add(objects.Pod("later").Build())
	f.giveBack(f.pop("equal"), "*P") // its time counts again, so that later goes first
	f.Activate(klog.Logger{}, map[string]*v1.Pod{"": objects.Pod("equal").Build()})
	f.pop("later")
}
