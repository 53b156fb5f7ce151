// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
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
	f.Rouse(t, "rouse", f.Front, nil).WaitReady(ctx, t)
	rows := slices.Concat(nodeWakes(), neighbourWakes(), volumeWakes())
	covered := map[string]bool{}
	for number, row := range rows {
		covered[strings.Fields(row.name)[0]] = true
		t.Run(strings.ReplaceAll(row.name, " ", "_"), func(t *testing.T) {
			c := newCorner(t, f.Client, f.SchedulerName(t), number)
			if row.before != nil {
				row.before(c)
			}
			c.pod("pod", row.pod)
			c.waitRejected("pod", row.reason)
			start := time.Now()
			row.change(c)
			c.waitBound("pod", soon)
			t.Logf("bound %.2f s after the change", time.Since(start).Seconds())
		})
	}
	for _, plugin := range []string{
		"DefaultPreemption", "InterPodAffinity", "NodeAffinity", "NodeDeclaredFeatures", "NodePorts", "NodeResourcesFit",
		"NodeUnschedulable", "NodeVolumeLimits", "PodTopologySpread", "SchedulingGates", "TaintToleration",
		"VolumeBinding", "VolumeRestrictions", "VolumeZone",
		// Not NodeName: a pod that names a node is bound to it, and never waits.
	} {
		if !covered[plugin] {
			t.Errorf("no pod was rejected by %s", plugin)
		}
	}
}
