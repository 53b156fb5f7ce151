// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/queue"
)

func ofAnotherScheduler(pod *v1.Pod) { pod.Spec.SchedulerName = "another-scheduler" }

func TestPodHandlersKeepCacheAndQueue(t *testing.T) {
	waiting := objects.Pod("a").Requests("cpu", "1").Build()
	placed := objects.Pod("a").Requests("cpu", "1").Node("n1").Build()
	tests := []struct {
		name   string
		steps  func(f *fixture)
		cached []string
		pool   queue.Pool
	}{
		{name: "a new pod is queued", steps: func(f *fixture) { f.podAdded(waiting) }, pool: queue.PoolActive},
		{name: "another scheduler's pod is not", steps: func(f *fixture) { f.podAdded(objects.Pod("a").Requests("cpu", "1").With(ofAnotherScheduler).Build()) }},
		{name: "a placed pod is cached", steps: func(f *fixture) { f.podAdded(placed) }, cached: []string{"a@n1"}},
		{
			name: "another scheduler's placed pod is cached",
			steps: func(f *fixture) {
				f.podAdded(objects.Pod("a").Requests("cpu", "1").Node("n1").With(ofAnotherScheduler).Build())
			},
			cached: []string{"a@n1"},
		},
		{
			name: "a pod that gets a node leaves the queue",
			steps: func(f *fixture) {
				f.podAdded(waiting)
				f.podUpdated(waiting, objects.PodFrom(waiting).Node("n1").Build())
			},
			cached: []string{"a@n1"},
		},
		{
			name:   "a placed pod is updated",
			steps:  func(f *fixture) { f.podAdded(placed); f.podUpdated(placed, objects.PodFrom(placed).Build()) },
			cached: []string{"a@n1"},
		},
		{
			name: "a placed pod is replaced by another of its name",
			steps: func(f *fixture) {
				f.podAdded(placed)
				f.podUpdated(placed, objects.PodFrom(placed).Node("n2").UID("b").Build())
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
				f.podDeleted(objects.Node("a").Capacity("cpu", "1", "memory", "8Gi").Build())
				f.podDeleted(clientcache.DeletedFinalStateUnknown{Key: "default/a", Obj: objects.Node("a").Capacity("cpu", "1", "memory", "8Gi").Build()})
			},
			cached: []string{"a@n1"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t)
			f.nodeAdded(objects.Node("n1").Capacity("cpu", "4", "memory", "8Gi").Build())
			f.nodeAdded(objects.Node("n2").Capacity("cpu", "4", "memory", "8Gi").Build())
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
	f.nodeAdded(objects.Node("n1").Capacity("cpu", "1", "memory", "8Gi").Build())
	pod := objects.Pod("a").Requests("cpu", "2").NominatedNode("n1").Build()
	f.park(objects.Pod("b").Requests("cpu", "2").Build())
	f.park(pod)
	withdrawn := pod.DeepCopy()
	withdrawn.Status.NominatedNodeName = ""
	f.podUpdated(pod, withdrawn)
	f.wantPool("b", queue.PoolUnschedulable)
}

func TestNominationGoneWakesPodsOfTheSameOrLowerPriority(t *testing.T) {
	ends := map[string]func(f *fixture, pod *v1.Pod){
		"withdrawn": func(f *fixture, pod *v1.Pod) { f.podUpdated(pod, objects.PodFrom(pod).NominatedNode("").Build()) },
		"moved":     func(f *fixture, pod *v1.Pod) { f.podUpdated(pod, objects.PodFrom(pod).NominatedNode("n2").Build()) },
		"deleted":   func(f *fixture, pod *v1.Pod) { f.podDeleted(pod) },
		"bound to another node": func(f *fixture, pod *v1.Pod) {
			f.podUpdated(pod, objects.PodFrom(pod).With(func(pod *v1.Pod) { pod.Spec.NodeName = "n2" }).Build())
		},
		"asks for less": func(f *fixture, pod *v1.Pod) {
			f.podUpdated(pod, objects.PodFrom(pod).With(func(pod *v1.Pod) {
				pod.Spec.Containers = objects.Pod("less").Requests("cpu", "1").Build().Spec.Containers
			}).Build())
		},
		"has other labels": func(f *fixture, pod *v1.Pod) {
			f.podUpdated(pod, objects.PodFrom(pod).With(func(pod *v1.Pod) { pod.Labels = map[string]string{"x": "y"} }).Build())
		},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.nodeAdded(objects.Node("n1").Capacity("cpu", "1", "memory", "8Gi").Build())
			preemptor := objects.Pod("preemptor").Requests("cpu", "2").Priority(10).NominatedNode("n1").Build()
			for _, pod := range []*v1.Pod{
				objects.Pod("higher").Requests("cpu", "2").Priority(11).Build(), objects.Pod("same").Requests("cpu", "2").Priority(10).Build(), objects.Pod("lower").Requests("cpu", "2").Build(), preemptor,
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

func TestANewNominationWakesNoPod(t *testing.T) {
	f := newFixture(t)
	f.nodeAdded(objects.Node("n1").Capacity("cpu", "1", "memory", "8Gi").Build())
	f.park(objects.Pod("other").Requests("cpu", "2").Build())
	pod := objects.Pod("a").Requests("cpu", "2").Priority(1).Build()
	f.park(pod)
	f.podUpdated(pod, objects.PodFrom(pod).NominatedNode("n1").Build())
	f.wantPool("other", queue.PoolUnschedulable)
}

func TestPodThatGetsTheNodeThatWasKeptForItWakesNoPod(t *testing.T) {
	f := newFixture(t)
	f.nodeAdded(objects.Node("n1").Capacity("cpu", "1", "memory", "8Gi").Build())
	f.park(objects.Pod("other").Requests("cpu", "2").Build())
	pod := objects.Pod("a").Requests("cpu", "2").Priority(1).NominatedNode("n1").Build()
	f.park(pod)
	f.podUpdated(pod, objects.PodFrom(pod).With(func(pod *v1.Pod) { pod.Spec.NodeName = "n1" }).Build())
	f.wantPool("other", queue.PoolUnschedulable)
}

func TestAssumedPodIsNotQueuedAgain(t *testing.T) {
	f := newFixture(t)
	f.nodeAdded(objects.Node("n1").Capacity("cpu", "4", "memory", "8Gi").Build())
	pod := objects.Pod("a").Requests("cpu", "1").Build()
	f.add(pod)
	f.attempt()
	f.podUpdated(pod, objects.PodFrom(pod).With(func(p *v1.Pod) { p.Labels = map[string]string{"x": "y"} }).Build())
	f.wantPool("a", queue.PoolNone)
	if diff := cmp.Diff([]string{"a@n1*"}, f.cached()); diff != "" {
		t.Errorf("cached pods (-want +got):\n%s", diff)
	}
}

func TestDeletedAssumedPodFreesItsRoomAtOnce(t *testing.T) {
	f := newFixture(t)
	f.nodeAdded(objects.Node("n1").Capacity("cpu", "1", "memory", "8Gi").Build())
	pod := objects.Pod("a").Requests("cpu", "1").Build()
	f.add(pod)
	f.TryScheduleOne(f.ctx) // a is assumed; its binding has not run yet
	f.add(objects.Pod("b").Requests("cpu", "1").Build())
	f.TryScheduleOne(f.ctx)
	f.wantPool("b", queue.PoolUnschedulable)
	now := metav1.Now()
	f.podUpdated(pod, objects.PodFrom(pod).With(func(p *v1.Pod) { p.DeletionTimestamp = &now }).Build())
	if got := f.cached(); len(got) > 0 {
		t.Errorf("cached pods are %v, want none", got)
	}
	f.wantPool("b", queue.PoolBackoff)
}

func TestOwnBindingIsConfirmedByTheInformer(t *testing.T) {
	f := newFixture(t)
	f.nodeAdded(objects.Node("n1").Capacity("cpu", "4", "memory", "8Gi").Build())
	f.nodeAdded(objects.Node("n2").Capacity("cpu", "4", "memory", "8Gi").Build())
	pod := objects.Pod("a").Requests("cpu", "1").Build()
	f.add(pod)
	f.attempt()
	node := f.seen.bound["a"]
	f.podUpdated(pod, objects.PodFrom(pod).Node(node).Build())
	if diff := cmp.Diff([]string{"a@" + node}, f.cached()); diff != "" {
		t.Errorf("cached pods (-want +got):\n%s", diff)
	}
}

func TestBindingElsewhereIsBelieved(t *testing.T) {
	f := newFixture(t)
	f.nodeAdded(objects.Node("n1").Capacity("cpu", "4", "memory", "8Gi").Build())
	pod := objects.Pod("a").Requests("cpu", "1").Build()
	f.add(pod)
	f.attempt()
	f.podUpdated(pod, objects.PodFrom(pod).Node("elsewhere").Build())
	if diff := cmp.Diff([]string{"a@elsewhere"}, f.cached()); diff != "" {
		t.Errorf("cached pods (-want +got):\n%s", diff)
	}
}

// What the cache assumed of a pod may be more than what it takes in the end, from the node or from its neighbours.
func TestBindingThatDiffersFromTheAssumptionWakesPods(t *testing.T) {
	tests := map[string]func(*v1.Pod){
		"bound to another node": func(p *v1.Pod) { p.Spec.NodeName = "elsewhere" },
		"requests less":         func(p *v1.Pod) { p.Spec.Containers[0].Resources.Requests = objects.Resources("cpu", "1") },
		"has other labels":      func(p *v1.Pod) { p.Labels = nil },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.nodeAdded(objects.Node("n1").Capacity("cpu", "4", "memory", "8Gi").Label(v1.LabelHostname, "n1").Build())
			pod := objects.Pod("a").Label("app", "a").Requests("cpu", "2").Build()
			f.add(pod)
			f.attempt()
			waiting := objects.Pod("waiting").Requests("cpu", "3")
			if name == "has other labels" {
				waiting = objects.Pod("waiting").PodAntiAffinity(v1.LabelHostname, "app=a")
			}
			f.add(waiting.Build())
			f.attempt()
			f.wantPool("waiting", queue.PoolUnschedulable)
			f.podUpdated(pod, objects.PodFrom(pod).Node("n1").With(change).Build())
			f.wantPool("waiting", queue.PoolBackoff)
		})
	}
}

// A pod that is bound as it was assumed frees nothing.
func TestOwnBindingWakesNoPod(t *testing.T) {
	f := newFixture(t)
	f.nodeAdded(objects.Node("n1").Capacity("cpu", "1", "memory", "8Gi").Build())
	pod := objects.Pod("a").Requests("cpu", "1").Build()
	f.add(pod)
	f.attempt()
	f.park(objects.Pod("waiting").Requests("cpu", "1").Build())
	f.podUpdated(pod, objects.PodFrom(pod).Node("n1").Build())
	f.wantPool("waiting", queue.PoolUnschedulable)
}

func TestAssignedPodEventsWakePods(t *testing.T) {
	placed := objects.Pod("placed").Requests("cpu", "1").Node("n1").Build()
	tests := map[string]func(f *fixture){
		"deletion": func(f *fixture) { f.podDeleted(placed) },
		"scale down": func(f *fixture) {
			f.podUpdated(placed, objects.PodFrom(placed).With(func(p *v1.Pod) { p.Spec.Containers[0].Resources.Requests = nil }).Build())
		},
	}
	for name, happen := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.nodeAdded(objects.Node("n1").Capacity("cpu", "1", "memory", "8Gi").Build())
			f.podAdded(placed)
			f.park(objects.Pod("a").Requests("cpu", "1").Build())
			f.podUpdated(placed, objects.PodFrom(placed).With(func(p *v1.Pod) { p.Annotations = map[string]string{"x": "y"} }).Build())
			f.wantPool("a", queue.PoolUnschedulable)
			happen(f)
			f.wantPool("a", queue.PoolBackoff)
		})
	}
}

func TestGatedPodIsLetInWhenItsGatesAreGone(t *testing.T) {
	f := newFixture(t)
	gated := objects.Pod("a").Requests("cpu", "1").With(func(p *v1.Pod) {
		p.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "one"}, {Name: "two"}}
	}).Build()
	f.add(gated)
	f.wantPool("a", queue.PoolGated)
	oneLeft := objects.PodFrom(gated).With(func(p *v1.Pod) { p.Spec.SchedulingGates = p.Spec.SchedulingGates[1:] }).Build()
	f.podUpdated(gated, oneLeft)
	f.wantPool("a", queue.PoolGated)
	f.podUpdated(oneLeft, objects.PodFrom(oneLeft).With(func(p *v1.Pod) { p.Spec.SchedulingGates = nil }).Build())
	f.wantPool("a", queue.PoolActive)
}

func TestRecreatedPodIsAnotherPod(t *testing.T) {
	f := newFixture(t)
	pod := objects.Pod("a").Requests("cpu", "1").Build()
	f.add(pod)
	again := objects.PodFrom(pod).UID("second").Build()
	f.podUpdated(pod, again)
	info := f.Queue().TryPop()
	if info == nil || info.Pod.UID != "second" {
		t.Fatalf("popped %v, want the second pod", info)
	}
	if again := f.Queue().TryPop(); again != nil {
		t.Errorf("popped %s with UID %s as well", again.Pod.Name, again.Pod.UID)
	}
}

// A pod may lose its nomination, or get that of the node where it goes, while it is being bound to another node than the one
// that was kept free for it.
func TestNominationOfAnAssumedPodGoneWakesPods(t *testing.T) {
	for _, now := range []string{"", "n2"} {
		t.Run("now "+now, func(t *testing.T) {
			f := newFixture(t)
			f.nodeAdded(objects.Node("n2").Capacity("cpu", "4", "memory", "8Gi").Build())
			pod := objects.Pod("a").Requests("cpu", "4").Priority(1).NominatedNode("n1").Build()
			f.add(pod)
			f.TryScheduleOne(f.ctx) // it is assumed on n2; its binding has not run yet
			f.nodeAdded(objects.Node("n1").Capacity("cpu", "1", "memory", "8Gi").Build())
			f.park(objects.Pod("other").Requests("cpu", "2").Build())
			f.podUpdated(pod, objects.PodFrom(pod).NominatedNode(now).Build())
			f.wantPool("other", queue.PoolBackoff)
		})
	}
}
