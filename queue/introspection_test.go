// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	v1 "k8s.io/api/core/v1"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

func TestLookup(t *testing.T) {
	rejects := false
	f := newFixture(t, withPlugins(plugin("P", nodeAdded, nil), rejectingWhile("Gate", &rejects, volumeAdded)))
	active, parked, failed, flying, gated := objects.Pod("active").Build(), objects.Pod("parked").Build(), objects.Pod("failed").Build(), objects.Pod("flying").Build(), objects.Pod("gated").Build()
	f.park(parked, "P", "*Q")
	f.step(time.Second)
	f.Add(failed)
	f.giveBack(f.pop("failed"))
	f.Add(flying)
	f.pop("flying")
	f.Add(active)
	rejects = true
	f.Add(gated)
	f.step(time.Hour)
	now := start.Add(time.Second)
	for name, want := range map[string]PodStatus{
		"unknown": {},
		"active":  {Pool: PoolActive, Since: now, Pod: active},
		"parked": {
			Pool: PoolUnschedulable, Since: start, Attempts: 1, Pod: parked, UnschedulablePlugins: []string{"P"}, PendingPlugins: []string{"Q"},
			BackoffExpiration: start.Add(time.Second), UnschedulableTimeoutAt: start.Add(defaultMaxInUnschedulable + 1),
		},
		"failed": {Pool: PoolBackoff, Since: now, Attempts: 1, Pod: failed, BackoffExpiration: now.Add(time.Second)},
		"flying": {Pool: PoolInFlight, Since: now, Attempts: 1},
		"gated": {
			Pool: PoolGated, Since: now, Pod: gated, UnschedulablePlugins: []string{"Gate"}, GatingPlugin: "Gate",
			UnschedulableTimeoutAt: now.Add(defaultMaxInUnschedulable + 1),
		},
	} {
		got, ok := f.Lookup("default", name)
		wantEqual(t, "whether there is a pod "+name, ok, name != "unknown")
		if difference := cmp.Diff(want, got, cmpopts.EquateEmpty()); difference != "" {
			t.Errorf("%s differs (-want +got):\n%s", name, difference)
		}
	}
}

func TestPendingPodsAndStats(t *testing.T) {
	rejects := true
	f := newFixture(t, withPlugins(plugin("P", nodeAdded, nil), rejectingWhile("Gate", &rejects, volumeAdded)))
	f.Add(objects.Pod("gated").Build())
	rejects = false
	f.park(objects.Pod("parked").Build(), "P")
	f.Add(objects.Pod("failed").Build())
	f.giveBack(f.pop("failed"))
	f.park(objects.Pod("rejected").Build(), "P")
	f.Move(nodeAdded, nil, node, func(pod *v1.Pod) bool { return pod.Name == "rejected" })
	f.Add(objects.Pod("flying").Build())
	f.pop("flying")
	f.Move(nodeAdded, nil, node, func(pod *v1.Pod) bool { return false })
	f.Add(objects.Pod("active").Build())
	_, summary := f.PendingPods()
	wantEqual(t, "summary", summary, "activeQ:1; backoffQ:2; unschedulableEntities:2")
	wantEqual(t, "pods", f.pending(), []string{"active", "failed", "rejected", "gated", "parked"})
	wantEqual(t, "stats", f.Stats(), Stats{
		Active: 1, Backoff: 2, Unschedulable: 1, Gated: 1, InFlight: 1, InFlightEvents: 1, SchedulingCycles: 4,
		Events: 2, LastEvent: EventCost{Classes: 1, Pods: 1}, AllEvents: EventCost{Classes: 3, Pods: 3, Woken: 1},
	})
}
