// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package preemption

import (
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/clock"
)

// The functions below ask a handle for what the official interface does not have. Other handles than this module's, or
// a nil one, get what an ordinary program would use.

// starterOf returns how a task in the background is started.
func starterOf(handle fwk.Handle) func(task func()) {
	if starter, ok := handle.(interface{ Go(task func()) }); ok {
		return starter.Go
	}
	return func(task func()) { go task() }
}

func clockOf(handle fwk.Handle) clock.PassiveClock {
	if timed, ok := handle.(interface {
		Clock() clock.WithDelayedExecution
	}); ok {
		return timed.Clock()
	}
	return clock.RealClock{}
}

func seedOf(handle fwk.Handle) uint64 {
	if seeded, ok := handle.(interface{ Seed() uint64 }); ok {
		return seeded.Seed()
	}
	return 0
}
