// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
)

// wake is a pod named "pod" that is rejected, and the change that makes room for it.
type wake struct {
	name   string // the plugin that rejects it, and the change
	before func(*corner)
	pod    func(*v1.Pod)
	reason string // in the message of the condition
	change func(*corner)
}

// Waiting pods are flushed after five minutes. These are to be scheduled within seconds, through the event.
const soon = 10 * time.Second

func TestChangesWakeRejectedPods(t *testing.T) {
	ctx := t.Context()
	f := NewFixture(ctx, t, settings.Binaries, InsteadOf)
	front := StartFront(t, f.Plane, nil) // whose record is only about the scheduler
	s := f.Rouse(t, "rouse", front, nil)
	s.WaitReady(ctx, t)
	token := f.scraper(t)
	rows := slices.Concat(nodeWakes(), neighbourWakes(), volumeWakes(), deviceWakes())
	covered := map[string]bool{}
	for number, row := range rows {
		covered[strings.Fields(row.name)[0]] = true
		t.Run(strings.ReplaceAll(row.name, " ", "_"), func(t *testing.T) {
			c := newCorner(t, f.Client, f.SchedulerName(t), number)
			c.settle = func() { s.settle(t, token) }
			if row.before != nil {
				row.before(c)
			}
			c.settle()
			c.pod("pod", row.pod)
			if row.reason == heldBack {
				s.waitGated(t, token)
			} else {
				c.waitRejected("pod", row.reason)
			}
			start := time.Now()
			row.change(c)
			c.waitBound("pod", soon)
			c.checkDevices("pod")
			t.Logf("bound %.2f s after the change", time.Since(start).Seconds())
		})
	}
	for _, plugin := range []string{
		"DefaultPreemption", "DynamicResources", "InterPodAffinity", "NodeAffinity", "NodeDeclaredFeatures", "NodePorts", "NodeResourcesFit",
		"NodeUnschedulable", "NodeVolumeLimits", "PodTopologySpread", "SchedulingGates", "TaintToleration",
		"VolumeBinding", "VolumeRestrictions", "VolumeZone",
		// Not NodeName: a pod that names a node is bound to it, and never waits.
	} {
		if !covered[plugin] {
			t.Errorf("no pod was rejected by %s", plugin)
		}
	}
	checkRights(t, f.Manifests, front.Record(), s.Log())
	s.checkDeviceMetrics(t, token)
}

// checkDeviceMetrics fails the test unless what the pods of [deviceWakes] went through was measured.
func (s *Scheduler) checkDeviceMetrics(t *testing.T, token string) {
	t.Helper()
	answer, err := s.Read(t.Context(), "/metrics", token)
	if err != nil {
		t.Fatal(err)
	}
	parsed := parseText(t, answer.Body)
	for name, want := range map[string]map[string]float64{
		"dynamic_resource_allocation_resourceclaim_creates_total": {"success": 2},
		"scheduler_dra_bindingconditions_allocations_total":       {"failure": 1, "success": 1},
	} {
		got := map[string]float64{}
		for _, series := range parsed[name].GetMetric() {
			for _, label := range series.GetLabel() {
				if label.GetName() == "status" {
					got[label.GetValue()] += series.GetCounter().GetValue()
				}
			}
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s by status: got %v, want %v", name, got, want)
		}
	}
}

// settle waits until the scheduler has seen what was created before: its informers have had no event for a while. What
// comes through different watches has no order.
func (s *Scheduler) settle(t *testing.T, token string) {
	t.Helper()
	last, calm := -1.0, 0
	WaitFor(t.Context(), t, soon, func() (bool, string) {
		answer, err := s.Read(t.Context(), "/metrics", token)
		if err != nil {
			return false, err.Error()
		}
		events := 0.0
		for _, series := range parseText(t, answer.Body)["scheduler_event_handling_duration_seconds"].GetMetric() {
			events += float64(series.GetHistogram().GetSampleCount())
		}
		if calm++; events != last {
			last, calm = events, 0
		}
		return calm >= 3 && events > 0, "the scheduler to have seen all events"
	})
}

// waitGated waits until a pod is held back before the queue. There is no other in the test that could be.
func (s *Scheduler) waitGated(t *testing.T, token string) {
	t.Helper()
	WaitFor(t.Context(), t, soon, func() (bool, string) {
		answer, err := s.Read(t.Context(), "/metrics", token)
		if err != nil {
			return false, err.Error()
		}
		for _, series := range parseText(t, answer.Body)["scheduler_pending_pods"].GetMetric() {
			for _, label := range series.GetLabel() {
				if label.GetName() == "queue" && label.GetValue() == "gated" && series.GetGauge().GetValue() > 0 {
					return true, ""
				}
			}
		}
		return false, "a pod to be held back"
	})
}

// checkRights fails the test unless the scheduler, which has done everything by now that it does when nothing goes
// wrong, has asked for nothing that it may not, and for everything that it may.
func checkRights(t *testing.T, manifests *Manifests, record *Record, log string) {
	t.Helper()
	if strings.Contains(log, "does not permit a request") {
		t.Error("the log names requests that are not permitted")
	}
	sometimes := []string{
		"get pods",                                   // when the answer to a binding was lost
		"get resourceclaims.resource.k8s.io",         // when a claim changed while it was written
		"patch events", "patch events.events.k8s.io", // when something is repeated
	}
	used := record.Uses()
	for _, use := range manifests.Rights() {
		// Watches begin with what there is; an older API server wants lists.
		if use.Verb != "list" && used[use] == 0 && !slices.Contains(sometimes, use.String()) {
			t.Errorf("a right that was not used: %v", use)
		}
	}
}
