// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

func TestAddOrdersActivePods(t *testing.T) {
	later := func(a, b fwk.QueuedEntityInfo) bool { return a.GetTimestamp().After(b.GetTimestamp()) }
	never := func(a, b fwk.QueuedEntityInfo) bool { return false }
	pods := []*v1.Pod{objects.Pod("low").Priority(1).Build(), objects.Pod("high").Priority(9).Build(), objects.Pod("low too").Priority(1).Build(), objects.Pod("middle").Priority(5).Build()}
	tests := []struct {
		name string
		less fwk.LessFunc
		step time.Duration
		want []string
	}{
		{"priority, then time", nil, time.Second, []string{"high", "middle", "low", "low too"}},
		{"priority, then order of arrival", nil, 0, []string{"high", "middle", "low", "low too"}},
		{"the order of a plugin", later, time.Second, []string{"middle", "low too", "high", "low"}},
		{"ties are first in, first out", never, 0, []string{"low", "high", "low too", "middle"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t, Options{Less: test.less})
			for _, pod := range pods {
				f.Add(pod)
				f.step(test.step)
			}
			wantEqual(t, "order", f.popOrder(), test.want)
		})
	}
}

func TestAddNominatesThePodEvenIfGated(t *testing.T) {
	rejects := true
	for _, rejects = range []bool{false, true} {
		f := newFixture(t, withPlugins(rejectingWhile("Gate", &rejects, nodeAdded)))
		f.Add(objects.Pod("pod").NominatedNode("node1").Build())
		if nominated := f.NominatedPodsForNode("node1"); len(nominated) != 1 || nominated[0].GetPod().Name != "pod" {
			t.Errorf("gated %v: nominated %v, want the pod", rejects, nominated)
		}
	}
}

func TestAddReplacesAPodOfTheSameName(t *testing.T) {
	f := newFixture(t, withPlugins(plugin("P", nodeAdded, nil)))
	replace := func(pool Pool) {
		t.Helper()
		f.wantPool("pod", pool)
		successor := objects.Pod("pod").Build()
		successor.UID = "successor"
		f.Add(successor)
		f.wantPool("pod", PoolActive)
		wantEqual(t, "predecessor's nomination", len(f.NominatedPodsForNode("node1")), 0)
		if info := f.pop("pod"); info.Pod != successor || info.Attempts != 1 {
			t.Errorf("popped %v at attempt %d, want the successor at its first", info.Pod.UID, info.Attempts)
		}
		f.Done("successor")
	}
	f.Add(objects.Pod("pod").NominatedNode("node1").Build())
	replace(PoolActive)
	f.park(objects.Pod("pod").NominatedNode("node1").Build(), "P")
	replace(PoolUnschedulable)
	f.park(objects.Pod("pod").NominatedNode("node1").Build())
	replace(PoolBackoff)
}

func TestFirstAttemptTimeLeavesOutTheTimeAtAGate(t *testing.T) {
	rejects := true
	f := newFixture(t, withPlugins(rejectingWhile("Gate", &rejects, nodeAdded)))
	f.Add(objects.Pod("pod").Build())
	f.step(time.Minute)
	rejects = false
	f.Move(nodeAdded, nil, node, nil)
	f.step(time.Minute)
	info := f.pop("pod")
	wantEqual(t, "first attempt", *info.InitialAttemptTimestamp, start.Add(time.Minute))
	wantEqual(t, "attempts", info.Attempts, 1)
	wantEqual(t, "timestamp", info.Timestamp, start)

	f.giveBack(info)
	f.step(time.Minute)
	f.FlushBackoff()
	info = f.pop("pod")
	wantEqual(t, "first attempt, the second time", *info.InitialAttemptTimestamp, start.Add(time.Minute))
	wantEqual(t, "attempts, the second time", info.Attempts, 2)
}
