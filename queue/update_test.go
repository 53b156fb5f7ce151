// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

func TestUpdateOfAWaitingPodAsksTheHintsOfItsRejectors(t *testing.T) {
	target := func(action fwk.ActionType) fwk.ClusterEvent {
		return fwk.ClusterEvent{Resource: fwk.TargetPod, ActionType: action}
	}
	tests := []struct {
		name      string
		event     fwk.ClusterEvent
		hint      fwk.QueueingHint
		rejectors []string
		ready     bool
		want      Pool
	}{
		{"wanted while it backs off", targetLabel, fwk.Queue, []string{"P"}, false, PoolBackoff},
		{"wanted after its backoff", targetLabel, fwk.Queue, []string{"P"}, true, PoolActive},
		{"wanted by a pending plugin", targetLabel, fwk.Queue, []string{"*P"}, false, PoolActive},
		{"skipped", targetLabel, fwk.QueueSkip, []string{"P"}, true, PoolUnschedulable},
		{"by another plugin", targetLabel, fwk.Queue, []string{"Q"}, true, PoolUnschedulable},
		{"another change", target(fwk.UpdatePodToleration), fwk.Queue, []string{"P"}, true, PoolUnschedulable},
		{"registered for any update", target(fwk.Update), fwk.Queue, []string{"P"}, true, PoolActive},
		{"registered for pods in general", fwk.ClusterEvent{Resource: fwk.Pod, ActionType: fwk.Update}, fwk.Queue, []string{"P"}, true, PoolActive},
		{"registered for other pods", fwk.ClusterEvent{Resource: fwk.UnscheduledPod, ActionType: fwk.Update}, fwk.Queue, []string{"P"}, true, PoolUnschedulable},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t, withPlugins(plugin("P", test.event, answering(test.hint, nil)), plugin("Q", nodeAdded, nil)))
			oldPod := objects.Pod("pod").NominatedNode("node1").Build()
			if test.ready {
				f.parkReady(oldPod, test.rejectors...)
			} else {
				f.park(oldPod, test.rejectors...)
			}
			newPod := objects.PodFrom(oldPod).Label("a", "b").NominatedNode("node2").Build()
			f.Update(oldPod, newPod)
			f.wantPool("pod", test.want)
			status, _ := f.Lookup("default", "pod")
			wantEqual(t, "whether the new version is there", status.Pod == newPod, true)
			wantEqual(t, "nominations", len(f.NominatedPodsForNode("node1"))*10+len(f.NominatedPodsForNode("node2")), 1)
		})
	}
}

func TestUpdateReordersActivePods(t *testing.T) {
	f := newFixture(t, Options{})
	low := objects.Pod("low").Priority(1).NominatedNode("node1").Build()
	f.Add(low)
	f.Add(objects.Pod("high").Priority(5).Build())
	raised := objects.PodFrom(low).Priority(9).NominatedNode("node2").Build()
	f.Update(low, raised)
	wantEqual(t, "nominations", len(f.NominatedPodsForNode("node1"))*10+len(f.NominatedPodsForNode("node2")), 1)
	if info := f.pop("low"); info.Pod != raised {
		t.Error("popped the old version")
	}
}

func TestUpdateOfAPodThatBacksOffLeavesItsBackoffAlone(t *testing.T) {
	for _, rejectors := range [][]string{nil, {"P"}} {
		f := newFixture(t, withPlugins(plugin("P", nodeAdded, nil)))
		pod, other := objects.Pod("pod").Priority(1).Build(), objects.Pod("other").Priority(2).Build()
		for _, each := range []*v1.Pod{pod, other} {
			f.Add(each)
			info := f.pop(each.Name)
			f.Move(nodeAdded, nil, node, nil)
			f.giveBack(info, rejectors...)
		}
		before, _ := f.Lookup("default", "pod")
		raised := objects.PodFrom(pod).Priority(3).Build()
		f.Update(pod, raised)
		after, _ := f.Lookup("default", "pod")
		wantEqual(t, "expiration", after.BackoffExpiration, before.BackoffExpiration)
		wantEqual(t, "whether the new version is there", after.Pod == raised, true)
		f.wantPool("pod", PoolBackoff)
		if rejectors != nil {
			wantEqual(t, "order", f.popOrder(), []string{"pod", "other"})
		}
	}
}

func TestUpdateOfAnUnknownPodAddsIt(t *testing.T) {
	f := newFixture(t, Options{})
	f.Update(objects.Pod("pod").Build(), objects.Pod("pod").Build())
	f.Update(nil, objects.Pod("other").Build())
	f.wantPool("pod", PoolActive)
	f.wantPool("other", PoolActive)
}

func TestUpdateToAnotherPodOfTheSameName(t *testing.T) {
	successor := objects.Pod("pod").Build()
	successor.UID = "successor"
	predecessor := objects.Pod("pod").NominatedNode("node1").Build()
	for name, bring := range map[string]func(f *fixture){
		"active":        func(f *fixture) { f.Add(predecessor) },
		"backoff":       func(f *fixture) { f.park(predecessor) },
		"unschedulable": func(f *fixture) { f.park(predecessor, "P") },
		"in flight": func(f *fixture) {
			f.Add(predecessor)
			f.pop("pod")
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, Options{})
			bring(f)
			f.Update(predecessor, successor)
			if info := f.pop("pod"); info.Pod != successor || info.Attempts != 1 {
				t.Errorf("popped %s at attempt %d, want the successor at its first", info.Pod.UID, info.Attempts)
			}
			wantEqual(t, "nominations", len(f.NominatedPodsForNode("node1")), 0)
		})
	}
}

// A pod whose labels and tolerations change at once is worth two events, of which the second can be worth more.
func TestUpdateWithSeveralEvents(t *testing.T) {
	tolerations := fwk.ClusterEvent{Resource: fwk.TargetPod, ActionType: fwk.UpdatePodToleration}
	for _, test := range []struct {
		name       string
		windowless bool
		rejectors  []string
		want       Pool
	}{
		{"the first that makes it poppable ends it", false, []string{"Label", "*Toleration"}, PoolBackoff},
		{"backoff is not the end where pods are not popped from it", true, []string{"Label", "*Toleration"}, PoolActive},
		{"the second does not send it where it is", true, []string{"Label", "Toleration"}, PoolBackoff},
		{"the second counts if the first does not", false, []string{"Other", "*Toleration"}, PoolActive},
	} {
		t.Run(test.name, func(t *testing.T) {
			options := withPlugins(plugin("Label", targetLabel, nil), plugin("Toleration", tolerations, nil))
			options.DisablePopFromBackoff = test.windowless
			f := newFixture(t, options)
			oldPod := objects.Pod("pod").Build()
			f.park(oldPod, test.rejectors...)
			newPod := objects.PodFrom(oldPod).Label("a", "b").Build()
			newPod.Spec.Tolerations = []v1.Toleration{{Key: "k"}}
			f.Update(oldPod, newPod)
			f.wantPool("pod", test.want)
		})
	}
}

func TestUpdateMovesAPodToItsNewClass(t *testing.T) {
	shape := func(_ klog.Logger, pod *v1.Pod, _, _ any) (fwk.QueueingHint, error) {
		if pod.Labels["shape"] == "round" {
			return fwk.Queue, nil
		}
		return fwk.QueueSkip, nil
	}
	options := withClasses(plugin("P", nodeAdded, shape))
	f := newFixture(t, options)
	square := objects.Pod("pod").Label("shape", "square").Build()
	f.parkReady(square, "P")
	f.parkReady(objects.Pod("other").Label("shape", "square").Build(), "P")
	f.Update(square, objects.PodFrom(square).Label("shape", "round").Build())
	f.Move(nodeAdded, nil, node, nil)
	f.wantPool("pod", PoolActive)
	f.wantPool("other", PoolUnschedulable)
}

// withClasses is withPlugins, with pods classed by their label "shape".
func withClasses(plugins ...*testPlugin) Options {
	options := withPlugins(plugins...)
	profile := options.Profiles["default-scheduler"]
	profile.HintClass = func(_ string, pod *v1.Pod) (string, bool) {
		shape, ok := pod.Labels["shape"]
		return shape, ok
	}
	options.Profiles["default-scheduler"] = profile
	return options
}

func TestDeleteFromEveryPool(t *testing.T) {
	rejects := true
	pod := objects.Pod("pod").NominatedNode("node1").Build()
	for name, bring := range map[string]func(f *fixture){
		"active":        func(f *fixture) { rejects = false; f.Add(pod) },
		"backoff":       func(f *fixture) { rejects = false; f.park(pod) },
		"unschedulable": func(f *fixture) { rejects = false; f.park(pod, "P") },
		"gated":         func(f *fixture) { rejects = true; f.Add(pod) },
		"unknown":       func(f *fixture) {},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, withPlugins(rejectingWhile("Gate", &rejects, nodeAdded)))
			bring(f)
			f.Delete(pod)
			f.wantPool("pod", PoolNone)
			wantEqual(t, "nominations", len(f.NominatedPodsForNode("node1")), 0)
			wantEqual(t, "pods by rejector", f.seen.rejectors["P"]+f.seen.rejectors["Gate"], 0)
			f.popsNothing()
			f.Move(nodeAdded, nil, node, nil)
			f.wantPool("pod", PoolNone)
		})
	}
}

func TestDeleteLeavesAPodInFlight(t *testing.T) {
	f := newFixture(t, Options{})
	pod := objects.Pod("pod").NominatedNode("node1").Build()
	f.Add(pod)
	f.pop("pod")
	f.Delete(pod)
	f.wantPool("pod", PoolInFlight)
	wantEqual(t, "nominations", len(f.NominatedPodsForNode("node1")), 0)
}
