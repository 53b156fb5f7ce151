// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"fmt"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/queue"
)

// Whatever state a pod is in and in whatever form its deletion arrives, nothing of it may be left.
func TestDeletionOfPodsInAnyState(t *testing.T) {
	pod := objects.Pod("a").Requests("cpu", "1").Build()
	states := []struct {
		name    string
		prepare func(f *fixture, pod *v1.Pod)
		own     bool // the state is only possible for pods of this scheduler
		last    *v1.Pod
	}{
		{name: "queued", prepare: func(f *fixture, pod *v1.Pod) { f.add(pod) }, last: pod},
		{name: "unschedulable", own: true, last: pod, prepare: func(f *fixture, pod *v1.Pod) {
			f.podAdded(objects.Pod("rival").Requests("cpu", "4").Node("n1").Build())
			f.park(pod)
			f.podDeleted(objects.Pod("rival").Requests("cpu", "4").Node("n1").With(ofAnotherScheduler).Build()) // its event has woken the pod
		}},
		{name: "in flight", own: true, last: pod, prepare: func(f *fixture, pod *v1.Pod) { f.add(pod); f.Queue().TryPop() }},
		{name: "assumed", own: true, last: pod, prepare: func(f *fixture, pod *v1.Pod) {
			open(f)
			f.add(pod)
			f.TryScheduleOne(f.ctx)
		}},
		{name: "waiting for permission", own: true, last: pod, prepare: func(f *fixture, pod *v1.Pod) { f.add(pod); f.attempt() }},
		{name: "bound, which was not seen", own: true, last: pod, prepare: func(f *fixture, pod *v1.Pod) {
			open(f)
			f.add(pod)
			f.attempt()
		}},
		{name: "placed", last: objects.Pod("a").Requests("cpu", "1").Node("n1").Build(), prepare: func(f *fixture, pod *v1.Pod) {
			f.know(pod)
			f.podAdded(objects.PodFrom(pod).Node("n1").Build())
		}},
	}
	forms := []struct {
		name   string
		delete func(f *fixture, last *v1.Pod)
	}{
		{"plain", func(f *fixture, last *v1.Pod) { f.podDeleted(last) }},
		{"missed", func(f *fixture, last *v1.Pod) {
			f.podDeleted(clientcache.DeletedFinalStateUnknown{Key: "default/a", Obj: last})
		}},
		{"missed, as the binding was", func(f *fixture, last *v1.Pod) {
			stale := last.DeepCopy()
			stale.Spec.NodeName = ""
			f.podDeleted(clientcache.DeletedFinalStateUnknown{Key: "default/a", Obj: stale})
		}},
		{"replaced by another pod", func(f *fixture, last *v1.Pod) {
			f.podUpdated(last, objects.PodFrom(last).With(ofAnotherScheduler).With(func(p *v1.Pod) { p.UID = "second"; p.Spec.NodeName = "" }).Build())
		}},
	}
	for _, state := range states {
		for _, form := range forms {
			for _, own := range []bool{true, false} {
				if state.own && !own {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/own %v", state.name, form.name, own), func(t *testing.T) {
					f := newFixture(t, &scripted{name: "Gate", permit: waits(time.Hour)})
					f.addNodes("n1")
					pod, last := pod.DeepCopy(), state.last.DeepCopy()
					if !own {
						ofAnotherScheduler(pod)
						ofAnotherScheduler(last)
					}
					state.prepare(f, pod)
					f.forget(pod)
					form.delete(f, last)
					f.runTasks()
					if cached := f.cached(); len(cached) > 0 {
						t.Errorf("the cache still counts %v", cached)
					}
					if f.profile().GetWaitingPod("default/a") != nil {
						t.Error("the pod still waits for permission")
					}
					if pool := f.pool("a"); pool != queue.PoolNone && pool != queue.PoolInFlight {
						t.Errorf("the pod is in pool %s, want none", pool)
					}
				})
			}
		}
	}
}

// open lets pods through the gate of a fixture.
func open(f *fixture) {
	f.profile().Plugin("Gate").(*scripted).permit = nil
}

// The deletion of a placed pod may be missed together with the creation of its successor.
func TestReplacedPlacedPodWakesOthers(t *testing.T) {
	f := newFixture(t)
	f.nodeAdded(objects.Node("n1").Capacity("cpu", "1", "memory", "8Gi").Build())
	first := objects.Pod("first").Requests("cpu", "1").Node("n1").Build()
	f.podAdded(first)
	f.park(objects.Pod("a").Requests("cpu", "1").Build())
	f.podUpdated(first, objects.PodFrom(first).Node("n2").UID("second").Build())
	f.wantPool("a", queue.PoolBackoff)
}

func TestPodThatIsBeingDeletedStopsWaitingForPermission(t *testing.T) {
	gate := &scripted{name: "Gate", permit: waits(time.Hour)}
	f := newFixture(t, gate)
	f.nodeAdded(objects.Node("n1").Capacity("cpu", "1", "memory", "8Gi").Build())
	pod := objects.Pod("a").Requests("cpu", "1").Build()
	f.add(pod)
	f.attempt()
	f.add(objects.Pod("b").Requests("cpu", "1").Build())
	f.attempt()
	f.wantPool("b", queue.PoolUnschedulable)
	now := metav1.Now()
	deleting := objects.PodFrom(pod).With(func(p *v1.Pod) { p.DeletionTimestamp = &now }).Build()
	f.updateInformer(deleting)
	f.podUpdated(pod, deleting)
	f.runTasks()
	if cached := f.cached(); len(cached) > 0 || gate.unreserved["a"] != 1 {
		t.Errorf("cached %v, unreserved %d times; want none, once", cached, gate.unreserved["a"])
	}
	if got := f.pool("b"); got == queue.PoolUnschedulable {
		t.Error("the pod that waited for the room was not woken")
	}
}
