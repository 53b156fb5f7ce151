// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package preemption

import (
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/clock"

	"github.com/rouse-scheduler/rouse/framework"
)

// The functions below ask a handle for what [framework.ExtendedHandle] adds. For a handle without it, or a nil one, they return
// what an ordinary program would use.

// starterOf returns how a task in the background is started.
func starterOf(handle fwk.Handle) func(task func()) {
	if extended, ok := handle.(framework.ExtendedHandle); ok {
		return extended.Go
	}
	return func(task func()) { go task() }
}

func clockOf(handle fwk.Handle) clock.PassiveClock {
	if extended, ok := handle.(framework.ExtendedHandle); ok {
		return extended.Clock()
	}
	return clock.RealClock{}
}

func seedOf(handle fwk.Handle) uint64 {
	if extended, ok := handle.(framework.ExtendedHandle); ok {
		return extended.Seed()
	}
	return 0
}

func isExhaustive(handle fwk.Handle) bool {
	extended, ok := handle.(framework.ExtendedHandle)
	return ok && extended.Exhaustive()
}
