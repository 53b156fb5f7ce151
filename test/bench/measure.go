// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"runtime"
	"syscall"
	"time"
)

// meter measures what the process uses between start and stop.
type meter struct {
	// profile, if not nil, starts to profile. That is done once, however often the meter is used.
	profile func() (stop func())
	finish  func()
	// stretch makes a run so many times longer than usual; zero means once.
	stretch int

	wall   time.Time
	cpu    time.Duration
	memory runtime.MemStats
}

// times is how many times longer than usual a run is to be.
func (m *meter) times() int { return max(1, m.stretch) }

// start collects garbage and begins to measure.
func (m *meter) start() {
	runtime.GC()
	if m.profile != nil {
		m.finish, m.profile = m.profile(), nil
	}
	runtime.ReadMemStats(&m.memory)
	m.cpu = processCPU()
	m.wall = time.Now()
}

// elapsed is the wall time since start.
func (m *meter) elapsed() time.Duration { return time.Since(m.wall) }

// stop returns what each of the operations since start took.
func (m *meter) stop(operations int) Sample {
	wall, cpu := time.Since(m.wall), processCPU()-m.cpu
	var after runtime.MemStats
	runtime.ReadMemStats(&after)
	if m.finish != nil {
		m.finish()
		m.finish = nil
	}
	n := float64(operations)
	return Sample{
		WallNanos:      float64(wall) / n,
		CPUNanos:       float64(cpu) / n,
		Allocations:    float64(after.Mallocs-m.memory.Mallocs) / n,
		AllocatedBytes: float64(after.TotalAlloc-m.memory.TotalAlloc) / n,
	}
}

// processCPU is the CPU time of this process so far, of all threads, user and system.
func processCPU() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
