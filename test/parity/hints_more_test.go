// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"testing"

	fwk "k8s.io/kube-scheduler/framework"
)

// TestNeedlessWakesAreCaught tests the comparison itself: hints that always wake the pod do not get through, for any event
// for which kube-scheduler's hint ever leaves one asleep.
func TestNeedlessWakesAreCaught(t *testing.T) {
	m := newMachine()
	type asked struct{ skips, caught int }
	found := map[string]asked{}
	for seed := range uint64(200) {
		g := newGenerator(seed)
		for _, h := range hintsOf(round{t, t.Context(), seed}, g.cluster(), all(m.available)) {
			h.our = func(hintCase) string { return fwk.Queue.String() }
			c := hintCase{pod: g.pod("pending")}
			if c.oldObj, c.newObj = g.change(h.event); c.oldObj == nil && c.newObj == nil {
				continue
			}
			about := h.plugin.Name() + " for " + h.event.Label()
			so := found[about]
			if h.their(c) == fwk.QueueSkip.String() {
				so.skips++
			}
			if h.differ(c) {
				so.caught++
			}
			found[about] = so
		}
	}
	for about, so := range found {
		if so.caught < so.skips/4 {
			t.Errorf("hint of %s: of %d pods that are woken needlessly, %d are noticed", about, so.skips, so.caught)
		}
	}
}
