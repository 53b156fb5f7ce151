// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

func TestFlushUnschedulable(t *testing.T) {
	const wait = defaultMaxInUnschedulable
	f := newFixture(t, withPlugins(plugin("P", nodeAdded, nil)))
	f.park(objects.Pod("first").Build(), "P")
	f.step(time.Second)
	f.park(objects.Pod("second").Build(), "P")
	f.Add(objects.Pod("in flight").Build())
	inFlight := f.pop("in flight")

	next, ok := f.NextUnschedulableFlush()
	wantEqual(t, "next flush", next, start.Add(wait+1))
	wantEqual(t, "whether there is one", ok, true)
	f.clock.SetTime(start.Add(wait))
	f.FlushUnschedulable()
	f.wantPool("first", PoolUnschedulable)
	wantEqual(t, "events kept in flight", f.Stats().InFlightEvents, 0)

	f.clock.SetTime(next)
	f.FlushUnschedulable()
	f.wantPool("first", PoolActive)
	f.wantPool("second", PoolUnschedulable)
	wantEqual(t, "events kept in flight", f.Stats().InFlightEvents, 1)
	f.giveBack(inFlight, "P")
	f.wantPool("in flight", PoolBackoff)

	info := f.pop("first")
	wantEqual(t, "flushed", info.WasFlushedFromUnschedulable, true)
	wantEqual(t, "flush time", info.FlushTimestamp, next)
	f.giveBack(info, "P")
	wantEqual(t, "flushed after another attempt", info.WasFlushedFromUnschedulable, false)
	wantEqual(t, "flush time after another attempt", info.FlushTimestamp, time.Time{})
}

func TestFlushedPodRespectsItsBackoff(t *testing.T) {
	options := withPlugins(plugin("P", nodeAdded, nil))
	options.MaxInUnschedulable = 500 * time.Millisecond
	f := newFixture(t, options)
	f.park(objects.Pod("pod").Build(), "P")
	f.step(time.Second)
	f.FlushUnschedulable()
	f.wantPool("pod", PoolBackoff)
}

func TestGatedPodIsCheckedOncePerUnschedulableTimeout(t *testing.T) {
	const wait = defaultMaxInUnschedulable
	rejects := true
	gating := rejectingWhile("Gate", &rejects, nodeAdded)
	f := newFixture(t, withPlugins(gating))
	f.Add(objects.Pod("pod").Build())
	gating.preEnqueueCalls = 0
	for range 3 {
		f.step(wait + 1)
		f.FlushUnschedulable()
		f.step(30 * time.Second)
		f.FlushUnschedulable()
		f.step(-30 * time.Second)
		f.wantPool("pod", PoolGated)
		wantEqual(t, "flushed", f.pods[podKey("default", "pod")].WasFlushedFromUnschedulable, false)
		next, _ := f.nextFlush()
		wantEqual(t, "next flush", next, f.clock.Now().Add(wait+1))
	}
	wantEqual(t, "calls of the PreEnqueue plugin", gating.preEnqueueCalls, 3)
	rejects = false
	f.step(wait + 1)
	f.FlushUnschedulable()
	f.wantPool("pod", PoolActive)
	wantEqual(t, "flushed", f.pop("pod").WasFlushedFromUnschedulable, true)
}

func TestNextFlush(t *testing.T) {
	f := newFixture(t, withPlugins(plugin("P", nodeAdded, nil)))
	next := func() time.Duration {
		next, ok := f.nextFlush()
		if !ok {
			return 0
		}
		return next.Sub(start)
	}
	wantEqual(t, "empty", next(), 0)
	f.park(objects.Pod("waits").Build(), "P")
	wantEqual(t, "waiting", next(), defaultMaxInUnschedulable+1)
	f.Add(objects.Pod("error").Build())
	info := f.pop("error")
	info.ConsecutiveErrorsCount = 2
	f.giveBack(info)
	wantEqual(t, "error backs off", next(), 5*time.Second)
	f.Move(nodeAdded, nil, node, nil)
	wantEqual(t, "rejected backs off", next(), 2*time.Second)
}

// A simulation that jumps from flush to flush comes to rest.
func TestNextFlushAlwaysFlushesSomething(t *testing.T) {
	f := newFixture(t, withPlugins(plugin("P", nodeAdded, nil)))
	f.clock.SetTime(start.Add(123_456_789))
	f.park(objects.Pod("waits").Build(), "P")
	f.Add(objects.Pod("error").Build())
	f.giveBack(f.pop("error"))
	for range 2 {
		next, ok := f.nextFlush()
		if !ok {
			t.Fatal("nothing to flush")
		}
		before := f.Stats().Active
		f.clock.SetTime(next)
		f.FlushBackoff()
		f.FlushUnschedulable()
		wantEqual(t, "flushed pods", f.Stats().Active-before, 1)
	}
}

func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.Sleep(300 * time.Millisecond) // begin within a window
		options := withPlugins(plugin("P", nodeAdded, nil))
		options.Clock, options.MaxInUnschedulable = clock.RealClock{}, time.Minute
		q, err := New(ctx, options)
		if err != nil {
			t.Fatal(err)
		}
		q.Run(ctx)
		begin := time.Now()
		giveBack := func(pod string, rejectors ...string) {
			q.Add(objects.Pod(pod).Build())
			info := q.TryPop()
			info.UnschedulablePlugins.Insert(rejectors...)
			if err := q.AddUnschedulable(info); err != nil {
				t.Fatal(err)
			}
		}
		popAfter := func(pod string, want time.Duration) *framework.QueuedPodInfo {
			t.Helper()
			info, err := q.Pop()
			if err != nil || info.Pod.Name != pod {
				t.Fatalf("popped %v, %v, want %s", info, err, pod)
			}
			wantEqual(t, "time until "+pod, time.Since(begin), want)
			return info
		}
		giveBack("error")
		giveBack("rejected", "P")
		popAfter("error", 1700*time.Millisecond) // expires in window 1, which ends at 2.0, counted from 0.3
		popAfter("rejected", 90*time.Second)     // the first look after more than a minute
		cancel()
		synctest.Wait()
	})
}
