// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"testing"
	"time"
)

const enough = 15 * time.Minute // for all pods to be bound, whatever happens

func TestEveryPodIsBoundOnce(t *testing.T) {
	ctx := t.Context()
	f := NewFixture(ctx, t, settings.Binaries, InsteadOf)
	CreateNodes(ctx, t, f.Client, settings.nodes)
	watch := WatchBindings(ctx, t, f.Client)
	f.Rouse(t, "rouse", f.Front, nil).WaitReady(ctx, t)

	start := time.Now()
	CreatePods(ctx, t, f.Client, f.SchedulerName(t), settings.pods)
	watch.WaitBound(ctx, settings.pods, enough)
	t.Logf("%d pods bound on %d nodes in %.1f s", settings.pods, settings.nodes, time.Since(start).Seconds())
	watch.Check(ctx, f.Client, f.Front.Record(), false)
}

// One request in twenty fails, half of the watches break, and the API server is restarted twice.
func TestEveryPodIsBoundOnceDespiteFaults(t *testing.T) {
	ctx := t.Context()
	f := NewFixture(ctx, t, settings.Binaries, InsteadOf)
	CreateNodes(ctx, t, f.Client, settings.nodes)
	watch := WatchBindings(ctx, t, f.Client)
	faults := NewFaults(0.05, settings.seed)
	front := StartFront(t, f.Plane, faults)
	rouse := f.Rouse(t, "rouse", front, nil)
	ended := 0
	waitBound := func(count int) {
		t.Helper()
		progress := NewProgress(t)
		WaitFor(ctx, t, enough, func() (bool, string) {
			if rouse.Ended() { // it has lost its Lease, say; a kubelet would start it again
				ended++
				t.Logf("rouse has ended:\n%s", lastLines(rouse.Log(), 1))
				rouse = f.Rouse(t, fmt.Sprintf("rouse-%d", ended), front, nil)
			}
			bound := watch.Bound()
			progress.Say("%d of %d pods bound", bound, settings.pods)
			return bound >= count, fmt.Sprintf("%d pods to be bound: %d are", count, bound)
		})
	}

	start := time.Now()
	created := make(chan struct{})
	go func() {
		defer close(created)
		CreatePods(ctx, t, f.Client, f.SchedulerName(t), settings.pods)
	}()
	for restart := 1; restart <= 2; restart++ {
		waitBound(settings.pods * restart / 4)
		t.Logf("restarting the API server, with %d pods bound", watch.Bound())
		down := time.Now()
		f.Plane.Restart(t, time.Second)
		t.Logf("the API server was down for %.1f s", time.Since(down).Seconds())
	}
	<-created
	waitBound(settings.pods)
	t.Logf("%d pods bound on %d nodes in %.1f s; rouse ended %d times; faults: %v",
		settings.pods, settings.nodes, time.Since(start).Seconds(), ended, faults)
	watch.Check(ctx, f.Client, front.Record(), true)
	for _, fault := range AllFaults() {
		if faults.Counts()[fault] == 0 {
			t.Errorf("the fault %q was never injected", fault)
		}
	}
}

// The replica that schedules is killed, or stopped until it has lost its Lease, every few seconds.
func TestEveryPodIsBoundOnceThoughLeadersDie(t *testing.T) {
	ctx := t.Context()
	f := NewFixture(ctx, t, settings.Binaries, InsteadOf)
	CreateNodes(ctx, t, f.Client, settings.nodes)
	watch := WatchBindings(ctx, t, f.Client)
	pair := startPair(ctx, t, f, f.Front, nil)

	start := time.Now()
	created := make(chan struct{})
	go func() {
		defer close(created)
		pace := max(settings.pods/25, 1) // a second, so that there is time for some changes of the leader
		CreatePodsAtPace(ctx, t, f.Client, f.SchedulerName(t), settings.pods, pace)
	}()
	progress := NewProgress(t)
	WaitFor(ctx, t, enough, func() (bool, string) {
		pair.disturb()
		bound := watch.Bound()
		progress.Say("%d of %d pods bound, %d leaders killed, %d stopped", bound, settings.pods, pair.killed, pair.stopped)
		return bound >= settings.pods, fmt.Sprintf("%d pods to be bound: %d are", settings.pods, bound)
	})
	<-created
	t.Logf("%d pods bound on %d nodes in %.1f s; %d leaders killed, %d stopped for longer than their Lease",
		settings.pods, settings.nodes, time.Since(start).Seconds(), pair.killed, pair.stopped)
	watch.Check(ctx, f.Client, f.Front.Record(), false)
	if pair.killed < 2 || pair.stopped < 1 {
		t.Errorf("%d leaders were killed and %d stopped; want 2 and 1 at least", pair.killed, pair.stopped)
	}
}
