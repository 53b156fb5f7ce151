// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fuzzlimit bounds each execution of a fuzz target in time and memory, so that an input that never ends is a
// finding and fuzzing comes back.
package fuzzlimit

import (
	"fmt"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// The limits of an execution if no others are given. Fuzzing may share the machine with much else.
const (
	DefaultTime   = 20 * time.Second
	DefaultMemory = 2 << 30
)

// interval is how often the memory is looked at.
const interval = 20 * time.Millisecond

// Limits bound an execution. The zero value is the default.
type Limits struct {
	// Time is how long it may take; 0 means DefaultTime.
	Time time.Duration
	// Memory is how many bytes the heap of the process may have meanwhile; 0 means DefaultMemory.
	Memory uint64
	// Exceeded is called once from another goroutine if the execution passes a limit; nil panics with the message. The
	// panic ends the process, for which go test keeps the input as a finding.
	Exceeded func(message string)
}

// Start starts the clock of an execution. The function that it returns stops it and waits for the watching goroutine:
//
//	defer fuzzlimit.Limits{}.Start()()
func (l Limits) Start() (stop func()) {
	if l.Time == 0 {
		l.Time = DefaultTime
	}
	if l.Memory == 0 {
		l.Memory = DefaultMemory
	}
	if l.Exceeded == nil {
		l.Exceeded = func(message string) {
			debug.SetTraceback("all")
			panic(message)
		}
	}
	ended, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		l.watch(ended)
	}()
	return func() {
		close(ended)
		<-done
	}
}

func (l Limits) watch(ended <-chan struct{}) {
	deadline := time.NewTimer(l.Time)
	defer deadline.Stop()
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	for {
		select {
		case <-ended:
			return
		case <-deadline.C:
			l.Exceeded(fmt.Sprintf("the execution takes longer than %v", l.Time))
			return
		case <-ticker.C:
			if metrics.Read(sample); sample[0].Value.Uint64() > l.Memory {
				l.Exceeded(fmt.Sprintf("the execution takes more than %d bytes of memory", l.Memory))
				return
			}
		}
	}
}
