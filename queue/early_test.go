// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// A pod that fails at once whenever it is tried, and that an event of the failure of another wakes, is what a gang that
// does not fit comes to.
func TestPodsAreTriedEarlyOncePerBackoff(t *testing.T) {
	f := newFixture(t, withPlugins(plugin("P", nodeAdded, nil)))
	names := []string{"a", "b", "c"}
	for _, name := range names {
		f.park(objects.Pod(name).Build(), "P")
	}
	attempts := 0
	for range 300 { // five minutes, a step each second
		f.step(time.Second)
		f.FlushBackoff()
		f.MoveAfterFailure(nodeAdded, nil, node, nil)
		for info := f.TryPop(); info != nil; info = f.TryPop() {
			if attempts++; attempts > 1000 {
				t.Fatalf("more than %d attempts", attempts-1)
			}
			f.giveBack(info, "P")
			f.MoveAfterFailure(nodeAdded, nil, node, nil)
		}
	}
	// Backoffs of ten seconds, with an early attempt in each, and a few shorter ones at the beginning.
	if most := len(names) * 2 * (300/10 + 4); attempts > most {
		t.Errorf("%d attempts, want at most %d", attempts, most)
	}
	if least := len(names) * 300 / 11; attempts < least {
		t.Errorf("%d attempts, want at least %d", attempts, least)
	}
}

func TestWhatEndsTheWaitForTheEndOfABackoff(t *testing.T) {
	tests := []struct {
		name  string
		do    func(f *fixture)
		early bool // it may be popped early again
	}{
		{"nothing", func(*fixture) {}, false},
		{"the end of the backoff", func(f *fixture) {
			f.MoveAfterFailure(nodeAdded, nil, node, nil)
			f.step(time.Minute)
			f.FlushBackoff()
			f.giveBack(f.pop("a"), "P")
		}, true},
		{"an event after the end of the backoff", func(f *fixture) {
			f.step(time.Minute)
			f.MoveAfterFailure(nodeAdded, nil, node, nil)
			f.giveBack(f.pop("a"), "P")
		}, true},
		{"an update of the pod that no plugin asked for", func(f *fixture) {
			f.Update(objects.Pod("a").Build(), objects.Pod("a").Label("b", "c").Build())
		}, false},
		{"activation, which ends no backoff", func(f *fixture) {
			f.Activate(klog.Logger{}, map[string]*v1.Pod{"a": objects.Pod("a").Build()})
			f.giveBack(f.pop("a"), "P")
		}, false},
		{"deletion and a new pod", func(f *fixture) {
			f.Delete(objects.Pod("a").Build())
			f.Add(objects.Pod("a").Build())
			f.giveBack(f.pop("a"), "P")
		}, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t, withPlugins(plugin("P", nodeAdded, nil)))
			f.park(objects.Pod("a").Build(), "P")
			f.MoveAfterFailure(nodeAdded, nil, node, nil)
			f.giveBack(f.pop("a"), "P") // popped early
			test.do(f)
			f.MoveAfterFailure(nodeAdded, nil, node, nil)
			if info := f.TryPop(); (info != nil) != test.early {
				t.Errorf("popped early again: %v, want %v", info != nil, test.early)
			}
		})
	}
}

// Pods that one change of the cluster after another wakes are each time tried at once, as in kube-scheduler, while no other
// pod is to be tried.
func TestChangesOfTheClusterNeedNoBackoff(t *testing.T) {
	f := newFixture(t, withPlugins(plugin("P", nodeAdded, nil)))
	f.park(objects.Pod("a").Build(), "P")
	for range 5 {
		f.Move(nodeAdded, nil, node, nil)
		info := f.pop("a")
		f.Move(nodeAdded, nil, node, nil) // during the attempt
		f.giveBack(info, "P")
		f.giveBack(f.pop("a"), "P")
	}
}
