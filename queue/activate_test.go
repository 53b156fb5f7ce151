// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

func TestActivate(t *testing.T) {
	rejects := false
	for _, test := range []struct {
		name  string
		bring func(f *fixture)
		want  Pool
		moved int
	}{
		{"unschedulable, in spite of its backoff", func(f *fixture) { f.park(objects.Pod("pod").Build(), "P") }, PoolActive, 1},
		{"backing off", func(f *fixture) {
			f.park(objects.Pod("pod").Build(), "P")
			f.Move(nodeAdded, nil, node, nil)
		}, PoolActive, 1},
		{"backing off from an error", func(f *fixture) { f.park(objects.Pod("pod").Build()) }, PoolActive, 1},
		{"active already", func(f *fixture) { f.Add(objects.Pod("pod").Build()) }, PoolActive, 0},
		{"in flight", func(f *fixture) { f.Add(objects.Pod("pod").Build()); f.pop("pod") }, PoolInFlight, 0},
		{"unknown", func(f *fixture) {}, PoolNone, 0},
		{"gated", func(f *fixture) { rejects = true; f.Add(objects.Pod("pod").Build()) }, PoolGated, 0},
		{"gated no longer", func(f *fixture) { rejects = true; f.Add(objects.Pod("pod").Build()); rejects = false }, PoolActive, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			rejects = false
			f := newFixture(t, withPlugins(plugin("P", nodeAdded, nil), rejectingWhile("Gate", &rejects, nodeAdded)))
			test.bring(f)
			f.Activate(klog.Logger{}, map[string]*v1.Pod{"default/pod": objects.Pod("pod").Build(), "nil": nil})
			f.wantPool("pod", test.want)
			wantEqual(t, "pods moved", f.seen.incoming["active ForceActivate"], test.moved)
		})
	}
}

func TestActivateInFlightCountsForThatPodOnly(t *testing.T) {
	f := newFixture(t, withPlugins(plugin("P", nodeAdded, nil)))
	f.Add(objects.Pod("pod").Build())
	info := f.pop("pod")
	f.Add(objects.Pod("other").Build())
	other := f.pop("other")
	f.Activate(klog.Logger{}, map[string]*v1.Pod{"": objects.Pod("pod").Build()})
	f.giveBack(info, "*P")
	f.giveBack(other, "*P")
	f.wantPool("pod", PoolBackoff)
	f.wantPool("other", PoolUnschedulable)
}
