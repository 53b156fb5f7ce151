// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/rouse-scheduler/rouse/queue"
)

func foreign(pod *v1.Pod) { pod.Spec.SchedulerName = "somebody-else" }

func TestPodHandlersKeepCacheAndQueue(t *testing.T) {
	waiting := makePod("a", "1")
	placed := makePod("a", "1", on("n1"))
	tests := []struct {
		name   string
		steps  func(f *fixture)
		cached []string
		pool   queue.Pool
	}{
		{name: "a new pod is queued", steps: func(f *fixture) { f.podAdded(waiting) }, pool: queue.PoolActive},
		{name: "another scheduler's pod is not", steps: func(f *fixture) { f.podAdded(makePod("a", "1", foreign)) }},
		{name: "a placed pod is cached", steps: func(f *fixture) { f.podAdded(placed) }, cached: []string{"a@n1"}},
		{
			name:   "another scheduler's placed pod is cached",
			steps:  func(f *fixture) { f.podAdded(makePod("a", "1", on("n1"), foreign)) },
			cached: []string{"a@n1"},
		},
		{
			name:   "a pod that gets a node leaves the queue",
			steps:  func(f *fixture) { f.podAdded(waiting); f.podUpdated(waiting, changed(waiting, on("n1"))) },
			cached: []string{"a@n1"},
		},
		{
			name:   "a placed pod is updated",
			steps:  func(f *fixture) { f.podAdded(placed); f.podUpdated(placed, changed(placed)) },
			cached: []string{"a@n1"},
		},
		{
			name: "a placed pod is replaced by another of its name",
			steps: func(f *fixture) {
				f.podAdded(placed)
				f.podUpdated(placed, changed(placed, on("n2"), func(p *v1.Pod) { p.UID = "b" }))
			},
			cached: []string{"a@n2"},
		},
		{name: "a placed pod is deleted", steps: func(f *fixture) { f.podAdded(placed); f.podDeleted(placed) }},
		{name: "a queued pod is deleted", steps: func(f *fixture) { f.podAdded(waiting); f.podDeleted(waiting) }},
		{
			name: "a queued pod's deletion was missed",
			steps: func(f *fixture) {
				f.podAdded(waiting)
				f.podDeleted(clientcache.DeletedFinalStateUnknown{Key: "default/a", Obj: waiting})
			},
		},
		{
			name: "a placed pod's deletion was missed, and its binding too",
			steps: func(f *fixture) {
				f.podAdded(placed)
				f.podDeleted(clientcache.DeletedFinalStateUnknown{Key: "default/a", Obj: waiting})
			},
		},
		{
			name: "objects of another kind are ignored",
			steps: func(f *fixture) {
				f.podAdded(placed)
				f.podDeleted(makeNode("a", "1"))
				f.podDeleted(clientcache.DeletedFinalStateUnknown{Key: "default/a", Obj: makeNode("a", "1")})
			},
			cached: []string{"a@n1"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t)
			f.nodeAdded(makeNode("n1", "4"))
			f.nodeAdded(makeNode("n2", "4"))
			test.steps(f)
			if diff := cmp.Diff(test.cached, f.cached()); diff != "" {
				t.Errorf("cached pods (-want +got):\n%s", diff)
			}
			f.wantPool("a", test.pool)
		})
	}
}

// park has the queue hold a pod that NodeResourcesFit rejected.
func (f *fixture) park(pod *v1.Pod) {
	f.t.Helper()
	f.add(pod)
	f.attempt()
	f.wantPool(pod.Name, queue.PoolUnschedulable)
}

func TestUpdateOfAQueuedPodWithoutAChangeIsIgnored(t *testing.T) {
	f := newFixture(t)
	f.nodeAdded(makeNode("n1", "1"))
	pod := makePod("a", "2", nominated("n1"))
	f.park(makePod("b", "2"))
	f.park(pod)
	withdrawn := pod.DeepCopy()
	withdrawn.Status.NominatedNodeName = ""
	f.podUpdated(pod, withdrawn)
	f.wantPool("b", queue.PoolUnschedulable)
}

func TestNominationGoneWakesPodsOfTheSameOrLowerPriority(t *testing.T) {
	ends := map[string]func(f *fixture, pod *v1.Pod){
		"withdrawn": func(f *fixture, pod *v1.Pod) { f.podUpdated(pod, changed(pod, nominated(""))) },
		"moved":     func(f *fixture, pod *v1.Pod) { f.podUpdated(pod, changed(pod, nominated("n2"))) },
		"deleted":   func(f *fixture, pod *v1.Pod) { f.podDeleted(pod) },
		"bound to another node": func(f *fixture, pod *v1.Pod) {
			f.podUpdated(pod, changed(pod, func(pod *v1.Pod) { pod.Spec.NodeName = "n2" }))
		},
		"asks for less": func(f *fixture, pod *v1.Pod) {
			f.podUpdated(pod, changed(pod, func(pod *v1.Pod) {
				pod.Spec.Containers = makePod("less", "1").Spec.Containers
			}))
		},
		"has other labels": func(f *fixture, pod *v1.Pod) {
			f.podUpdated(pod, changed(pod, func(pod *v1.Pod) { pod.Labels = map[string]string{"x": "y"} }))
		},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.nodeAdded(makeNode("n1", "1"))
			preemptor := makePod("preemptor", "2", prioritized(10), nominated("n1"))
			for _, pod := range []*v1.Pod{
				makePod("higher", "2", prioritized(11)), makePod("same", "2", prioritized(10)), makePod("lower", "2"), preemptor,
			} {
				f.park(pod)
			}
			end(f, preemptor)
			f.wantPool("higher", queue.PoolUnschedulable)
			f.wantPool("same", queue.PoolBackoff)
			f.wantPool("lower", queue.PoolBackoff)
		})
	}
}

func TestANewNominationWakesNobody(t *testing.T) {
	f := newFixture(t)
	f.nodeAdded(makeNode("n1", "1"))
	f.park(makePod("other", "2"))
	pod := makePod("a", "2", prioritized(1))
	f.park(pod)
	f.podUpdated(pod, changed(pod, nominated("n1")))
	f.wantPool("other", queue.PoolUnschedulable)
}

func TestPodThatGetsTheNodeThatWasKeptForItWakesNobody(t *testing.T) {
	f := newFixture(t)
	f.nodeAdded(makeNode("n1", "1"))
	f.park(makePod("other", "2"))
	pod := makePod("a", "2", prioritized(1), nominated("n1"))
	f.park(pod)
	f.podUpdated(pod, changed(pod, func(pod *v1.Pod) { pod.Spec.NodeName = "n1" }))
	f.wantPool("other", queue.PoolUnschedulable)
}

func TestAssumedPodIsNotQueuedAgain(t *testing.T) {
	f := newFixture(t)
	f.nodeAdded(makeNode("n1", "4"))
	pod := makePod("a", "1")
	f.add(pod)
	f.attempt()
	f.podUpdated(pod, changed(pod, func(p *v1.Pod) { p.Labels = map[string]string{"x": "y"} }))
	f.wantPool("a", queue.PoolNone)
	if diff := cmp.Diff([]string{"a@n1*"}, f.cached()); diff != "" {
		t.Errorf("cached pods (-want +got):\n%s", diff)
	}
}

func TestDeletedAssumedPodFreesItsRoomAtOnce(t *testing.T) {
	f := newFixture(t)
	f.nodeAdded(makeNode("n1", "1"))
	pod := makePod("a", "1")
	f.add(pod)
	f.TryScheduleOne(f.ctx) // a is assumed; its binding has not run yet
	f.add(makePod("b", "1"))
	f.TryScheduleOne(f.ctx)
	f.wantPool("b", queue.PoolUnschedulable)
	now := metav1.Now()
	f.podUpdated(pod, changed(pod, func(p *v1.Pod) { p.DeletionTimestamp = &now }))
	if got := f.cached(); len(got) > 0 {
		t.Errorf("cached pods are %v, want none", got)
	}
	f.wantPool("b", queue.PoolBackoff)
}

func TestOwnBindingIsConfirmedByTheInformer(t *testing.T) {
	f := newFixture(t)
	f.nodeAdded(makeNode("n1", "4"))
	f.nodeAdded(makeNode("n2", "4"))
	pod := makePod("a", "1")
	f.add(pod)
	f.attempt()
	node := f.seen.bound["a"]
	f.podUpdated(pod, changed(pod, on(node)))
	if diff := cmp.Diff([]string{"a@" + node}, f.cached()); diff != "" {
		t.Errorf("cached pods (-want +got):\n%s", diff)
	}
}

func TestBindingElsewhereIsBelieved(t *testing.T) {
	f := newFixture(t)
	f.nodeAdded(makeNode("n1", "4"))
	pod := makePod("a", "1")
	f.add(pod)
	f.attempt()
	f.podUpdated(pod, changed(pod, on("elsewhere")))
	if diff := cmp.Diff([]string{"a@elsewhere"}, f.cached()); diff != "" {
		t.Errorf("cached pods (-want +got):\n%s", diff)
	}
}

func TestAssignedPodEventsWakePods(t *testing.T) {
	placed := makePod("placed", "1", on("n1"))
	tests := map[string]func(f *fixture){
		"deletion": func(f *fixture) { f.podDeleted(placed) },
		"scale down": func(f *fixture) {
			f.podUpdated(placed, changed(placed, func(p *v1.Pod) { p.Spec.Containers[0].Resources.Requests = nil }))
		},
	}
	for name, happen := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.nodeAdded(makeNode("n1", "1"))
			f.podAdded(placed)
			f.park(makePod("a", "1"))
			f.podUpdated(placed, changed(placed, func(p *v1.Pod) { p.Annotations = map[string]string{"x": "y"} }))
			f.wantPool("a", queue.PoolUnschedulable)
			happen(f)
			f.wantPool("a", queue.PoolBackoff)
		})
	}
}

func TestGatedPodIsLetInWhenItsGatesAreGone(t *testing.T) {
	f := newFixture(t)
	gated := makePod("a", "1", func(p *v1.Pod) {
		p.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "one"}, {Name: "two"}}
	})
	f.add(gated)
	f.wantPool("a", queue.PoolGated)
	oneLeft := changed(gated, func(p *v1.Pod) { p.Spec.SchedulingGates = p.Spec.SchedulingGates[1:] })
	f.podUpdated(gated, oneLeft)
	f.wantPool("a", queue.PoolGated)
	f.podUpdated(oneLeft, changed(oneLeft, func(p *v1.Pod) { p.Spec.SchedulingGates = nil }))
	f.wantPool("a", queue.PoolActive)
}

func TestRecreatedPodIsAnotherPod(t *testing.T) {
	f := newFixture(t)
	pod := makePod("a", "1")
	f.add(pod)
	again := changed(pod, func(p *v1.Pod) { p.UID = types.UID("second") })
	f.podUpdated(pod, again)
	info := f.Queue().TryPop()
	if info == nil || info.Pod.UID != "second" {
		t.Fatalf("popped %v, want the second pod", info)
	}
	if again := f.Queue().TryPop(); again != nil {
		t.Errorf("popped %s with UID %s as well", again.Pod.Name, again.Pod.UID)
	}
}
