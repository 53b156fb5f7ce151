// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

func TestBackoffDuration(t *testing.T) {
	tests := []struct {
		name               string
		initial, max       time.Duration
		rejections, errors int
		want               time.Duration
	}{
		{name: "none before the first failure", want: 0},
		{name: "first", rejections: 1, want: time.Second},
		{name: "second", rejections: 2, want: 2 * time.Second},
		{name: "third", rejections: 3, want: 4 * time.Second},
		{name: "fourth", rejections: 4, want: 8 * time.Second},
		{name: "fifth is capped", rejections: 5, want: 10 * time.Second},
		{name: "capped forever", rejections: 1_000_000, want: 10 * time.Second},
		{name: "errors take precedence", rejections: 4, errors: 1, want: time.Second},
		{name: "initial above the longest", initial: time.Minute, max: time.Second, rejections: 1, want: time.Second},
		{name: "exactly the longest", initial: time.Second, max: 8 * time.Second, rejections: 4, want: 8 * time.Second},
		{name: "disabled", max: -1, rejections: 4, want: 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t, Options{InitialBackoff: test.initial, MaxBackoff: test.max})
			got := f.backoffDuration(&framework.QueuedPodInfo{UnschedulableCount: test.rejections, ConsecutiveErrorsCount: test.errors})
			wantEqual(t, "backoff", got, test.want)
		})
	}
}

func TestBackoffEndsWithTheWindowOfItsExpiration(t *testing.T) {
	for _, test := range []struct {
		name       string
		windowless bool
		failsAfter time.Duration
		expires    time.Duration
		ends       time.Duration
	}{
		{name: "window", failsAfter: 500 * time.Millisecond, expires: time.Second, ends: 2 * time.Second},
		{name: "beginning of a window", expires: time.Second, ends: 2 * time.Second},
		{name: "without windows", windowless: true, failsAfter: 500 * time.Millisecond, expires: 1500 * time.Millisecond, ends: 1500*time.Millisecond + 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t, Options{DisablePopFromBackoff: test.windowless})
			f.Add(objects.Pod("pod").Build())
			info := f.pop("pod")
			f.step(test.failsAfter)
			f.giveBack(info)
			wantEqual(t, "expiration", info.BackoffExpiration, start.Add(test.expires))
			next, ok := f.nextFlush()
			wantEqual(t, "next flush", next, start.Add(test.ends))
			wantEqual(t, "whether there is a next flush", ok, true)
			f.clock.SetTime(start.Add(test.ends - 1))
			f.FlushBackoff()
			f.wantPool("pod", PoolBackoff)
			f.clock.SetTime(start.Add(test.ends))
			f.FlushBackoff()
			f.wantPool("pod", PoolActive)
		})
	}
}

func TestBackoffOrder(t *testing.T) {
	// In order of their expirations; the first two fall into one window.
	pods := []*v1.Pod{objects.Pod("low").Build(), objects.Pod("high").Priority(5).Build(), objects.Pod("later").Priority(9).Build()}
	for _, test := range []struct {
		name       string
		windowless bool
		rejectors  []string
		want       []string
	}{
		{"priority within a window", false, []string{"P"}, []string{"high", "low", "later"}},
		{"expiration without windows", true, []string{"P"}, []string{"low", "high", "later"}},
		{"expiration of errors", false, nil, []string{"low", "high", "later"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			options := withPlugins(plugin("P", nodeAdded, nil))
			options.DisablePopFromBackoff = test.windowless
			f := newFixture(t, options)
			for i, pod := range pods {
				f.Add(pod)
				info := f.pop(pod.Name)
				f.Move(nodeAdded, nil, node, nil)
				f.giveBack(info, test.rejectors...)
				f.step(100 * time.Millisecond)
				if i == 1 {
					f.step(2 * time.Second)
				}
			}
			f.step(time.Minute)
			f.FlushBackoff()
			wantEqual(t, "order in which pods became active", f.pending(), test.want)
		})
	}
}

func TestPopDrainsBackoff(t *testing.T) {
	for _, test := range []struct {
		name      string
		disabled  bool
		rejectors []string
		want      []string
	}{
		{"rejected pods", false, []string{"P"}, []string{"pod"}},
		{"no pods that failed with errors", false, nil, nil},
		{"not if disabled", true, []string{"P"}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			gating := &testPlugin{name: "Gate", preEnqueue: func(*v1.Pod) *fwk.Status { return nil }}
			options := withPlugins(plugin("P", nodeAdded, nil), gating)
			options.DisablePopFromBackoff = test.disabled
			f := newFixture(t, options)
			f.Add(objects.Pod("pod").Build())
			info := f.pop("pod")
			f.Move(nodeAdded, nil, node, nil)
			f.giveBack(info, test.rejectors...)
			f.wantPool("pod", PoolBackoff)
			asked := gating.preEnqueueCalls
			wantEqual(t, "popped", f.popOrder(), test.want)
			wantEqual(t, "calls of the PreEnqueue plugin by popping", gating.preEnqueueCalls-asked, 0)
			wantEqual(t, "early pops", f.seen.incoming["active PopFromBackoffQ"], len(test.want))
		})
	}
}

func TestPopPrefersActivePods(t *testing.T) {
	f := newFixture(t, withPlugins(plugin("P", nodeAdded, nil)))
	f.park(objects.Pod("backing off").Priority(9).Build(), "P")
	f.Move(nodeAdded, nil, node, nil)
	f.Add(objects.Pod("active").Build())
	wantEqual(t, "order", f.popOrder(), []string{"active", "backing off"})
}

func TestFlushBackoffTakesRejectedPodsFirst(t *testing.T) {
	f := newFixture(t, withPlugins(plugin("P", nodeAdded, nil)))
	f.Add(objects.Pod("error").Build())
	f.giveBack(f.pop("error"))
	f.park(objects.Pod("rejected").Build(), "P")
	f.Move(nodeAdded, nil, node, nil)
	f.step(time.Minute)
	f.FlushBackoff()
	wantEqual(t, "order in which pods became active", f.pending(), []string{"rejected", "error"})
	wantEqual(t, "completed backoffs", f.seen.incoming["active BackoffComplete"], 2)
}

func TestBackoffIsOverForEventsAfterIt(t *testing.T) {
	f := newFixture(t, withPlugins(plugin("P", nodeAdded, nil)))
	f.parkReady(objects.Pod("pod").Build(), "P")
	f.Move(nodeAdded, nil, node, nil)
	f.wantPool("pod", PoolActive)
}

func TestBackoffDisabled(t *testing.T) {
	f := newFixture(t, Options{MaxBackoff: -1})
	f.Add(objects.Pod("pod").Build())
	f.giveBack(f.pop("pod"))
	f.wantPool("pod", PoolActive)
}

func TestBackoffOnAClockAtZero(t *testing.T) {
	f := newFixture(t, Options{})
	f.clock.SetTime(time.Time{})
	f.Add(objects.Pod("pod").Build())
	f.giveBack(f.pop("pod"))
	f.wantPool("pod", PoolBackoff)
	f.Activate(klog.Logger{}, map[string]*v1.Pod{"": objects.Pod("pod").Build()})
	f.wantPool("pod", PoolActive)
}
