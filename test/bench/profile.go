// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
)

// samplesPerSecond is more than usual, because what is profiled is often short. Linux rarely manages more.
const samplesPerSecond = 250

// profileInto starts a CPU profile. What it returns ends it, and writes it and a profile of all allocations so far to
// files in a directory.
func profileInto(dir, name string, complaints io.Writer) (stop func()) {
	file, err := os.Create(filepath.Join(dir, name+".cpu.pprof"))
	if err == nil {
		runtime.SetCPUProfileRate(samplesPerSecond) // sticks, although StartCPUProfile complains that it cannot change it
		err = pprof.StartCPUProfile(file)
	}
	if err != nil {
		fmt.Fprintln(complaints, "no profile:", err)
		return func() {}
	}
	return func() {
		pprof.StopCPUProfile()
		file.Close()
		runtime.GC()
		allocations, err := os.Create(filepath.Join(dir, name+".allocs.pprof"))
		if err != nil {
			fmt.Fprintln(complaints, "no profile of allocations:", err)
			return
		}
		defer allocations.Close()
		if err := pprof.Lookup("allocs").WriteTo(allocations, 0); err != nil {
			fmt.Fprintln(complaints, "writing the profile of allocations:", err)
		}
	}
}
