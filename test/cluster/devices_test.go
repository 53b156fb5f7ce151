// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"testing"
	"time"
)

// Pods wait for devices, of which there are far fewer, run for a moment and give them back, until all have been served. One
// request of the schedulers in twenty fails, the API server is restarted twice, and leaders are killed and stopped.
func TestDevicesAreInUseOnce(t *testing.T) {
	const podsPerNode = 25
	pods, restarts, strikes := 75, 0, 1 // in the short form
	if settings.pods >= 2_000 {
		pods, restarts, strikes = 2_000, 2, 4
	}
	ctx := t.Context()
	f := NewFixture(ctx, t, settings.Binaries, InsteadOf)
	slices := CreateDevices(ctx, t, f.Client, pods/podsPerNode)
	devices := WatchDevices(ctx, t, f.Client, slices)
	bindings := WatchBindings(ctx, t, f.Client)
	controllers := StartDeviceControllers(ctx, t, f.Client, 200*time.Millisecond)
	faults := NewFaults(0.05, settings.seed)
	front := StartFront(t, f.Plane, faults)
	// Every device that is given back wakes all pods that wait for one, and most of them in vain.
	pair := startPair(ctx, t, f, front, map[string]any{"podMaxBackoffSeconds": 1})

	start := time.Now()
	created := make(chan struct{})
	go func() {
		defer close(created)
		CreateDevicePods(ctx, t, f.Client, f.SchedulerName(t), pods)
	}()
	progress, restarted := NewProgress(t), 0
	WaitFor(ctx, t, enough, func() (bool, string) {
		pair.revive()
		bound, ended := bindings.Bound(), controllers.Ended()
		progress.Say("%d of %d pods bound, %d ended; %d leaders killed, %d stopped", bound, pods, ended, pair.killed, pair.stopped)
		if bound >= pods*(restarted+1)/(restarts+1) && restarted < restarts {
			restarted++
			f.Plane.Restart(t, time.Second)
		}
		if struck := pair.killed + pair.stopped; struck < strikes && bound >= pods*(struck+1)/(strikes+2) {
			pair.disturb()
		}
		return ended >= pods, fmt.Sprintf("%d pods to be served: %d are bound, %d have ended", pods, bound, ended)
	})
	<-created
	t.Logf("%d pods served with %d slices in %.1f s; %d restarts, %d leaders killed, %d stopped, %d replicas ended by themselves; faults: %v",
		pods, len(slices), time.Since(start).Seconds(), restarted, pair.killed, pair.stopped, pair.ended, faults)
	WaitFor(ctx, t, 30*time.Second, func() (bool, string) {
		leaks := devices.Leaks()
		return len(leaks) == 0, describeLeaks(leaks)
	})
	bindings.Check(ctx, f.Client, front.Record(), true)
	states, inUse := devices.Report(t)
	t.Logf("%d states of the claims, at most %d devices in use", states, inUse)
	if restarted < restarts || pair.killed < 1 {
		t.Errorf("%d restarts, %d leaders killed", restarted, pair.killed)
	}
}
