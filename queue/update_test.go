// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
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
			oldPod := newPod("pod", nominatedFor("node1"))
			if test.ready {
				f.parkReady(oldPod, test.rejectors...)
			} else {
				f.park(oldPod, test.rejectors...)
			}
			newPod := changed(oldPod, label("a", "b"), nominatedFor("node2"))
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
	low := newPod("low", priority(1), nominatedFor("node1"))
	f.Add(low)
	f.Add(newPod("high", priority(5)))
	raised := changed(low, priority(9), nominatedFor("node2"))
	f.Update(low, raised)
	wantEqual(t, "nominations", len(f.NominatedPodsForNode("node1"))*10+len(f.NominatedPodsForNode("node2")), 1)
	if info := f.pop("low"); info.Pod != raised {
		t.Error("popped the old version")
	}
}

func TestUpdateOfAPodThatBacksOffLeavesItsBackoffAlone(t *testing.T) {
	for _, rejectors := range [][]string{nil, {"P"}} {
		f := newFixture(t, withPlugins(plugin("P", nodeAdded, nil)))
		pod, other := newPod("pod", priority(1)), newPod("other", priority(2))
		for _, each := range []*v1.Pod{pod, other} {
			f.Add(each)
			info := f.pop(each.Name)
			f.Move(nodeAdded, nil, node, nil)
			f.giveBack(info, rejectors...)
		}
		before, _ := f.Lookup("default", "pod")
		raised := changed(pod, priority(3))
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
	f.Update(newPod("pod"), newPod("pod"))
	f.Update(nil, newPod("other"))
	f.wantPool("pod", PoolActive)
	f.wantPool("other", PoolActive)
}

func TestUpdateToAnotherPodOfTheSameName(t *testing.T) {
	successor := newPod("pod")
	successor.UID = "successor"
	predecessor := newPod("pod", nominatedFor("node1"))
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
			oldPod := newPod("pod")
			f.park(oldPod, test.rejectors...)
			newPod := changed(oldPod, label("a", "b"))
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
	square := newPod("pod", label("shape", "square"))
	f.parkReady(square, "P")
	f.parkReady(newPod("other", label("shape", "square")), "P")
	f.Update(square, changed(square, label("shape", "round")))
	f.Move(nodeAdded, nil, node, nil)
	f.wantPool("pod", PoolActive)
	f.wantPool("other", PoolUnschedulable)
}

// withClasses is withPlugins, with pods classed by their label "shape".
func withClasses(plugins ...*testPlugin) Options {
	options := withPlugins(plugins...)
	profile := options.Profiles["default"]
	profile.HintClass = func(_ string, pod *v1.Pod) (string, bool) {
		shape, ok := pod.Labels["shape"]
		return shape, ok
	}
	options.Profiles["default"] = profile
	return options
}

func TestDeleteFromEveryPool(t *testing.T) {
	shut := true
	pod := newPod("pod", nominatedFor("node1"))
	for name, bring := range map[string]func(f *fixture){
		"active":        func(f *fixture) { shut = false; f.Add(pod) },
		"backoff":       func(f *fixture) { shut = false; f.park(pod) },
		"unschedulable": func(f *fixture) { shut = false; f.park(pod, "P") },
		"gated":         func(f *fixture) { shut = true; f.Add(pod) },
		"unknown":       func(f *fixture) {},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, withPlugins(gatedWhile("Gate", &shut, nodeAdded)))
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
	pod := newPod("pod", nominatedFor("node1"))
	f.Add(pod)
	f.pop("pod")
	f.Delete(pod)
	f.wantPool("pod", PoolInFlight)
	wantEqual(t, "nominations", len(f.NominatedPodsForNode("node1")), 0)
}
