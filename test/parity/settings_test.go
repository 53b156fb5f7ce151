// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"testing"

	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

// settings come from the environment: SEED is where the random numbers begin, N how many rounds every test runs.
type settings struct {
	seed   uint64
	rounds int
}

func readSettings(t *testing.T) settings {
	t.Helper()
	number := func(name string, byDefault uint64) uint64 {
		text := os.Getenv(name)
		if text == "" {
			return byDefault
		}
		value, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("%s=%s: %v", name, text, err)
		}
		return value
	}
	return settings{seed: number("SEED", 1), rounds: int(number("N", 300))}
}

// TestMain prepares what kube-scheduler keeps in package variables.
func TestMain(m *testing.M) {
	metrics.Register()
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	os.Exit(m.Run())
}

// counter is the number of comparisons by kind.
type counter map[string]int

func (c counter) add(more map[string]int) {
	for kind, n := range more {
		c[kind] += n
	}
}

func (c counter) report(t *testing.T) {
	t.Helper()
	total := 0
	for _, kind := range slices.Sorted(maps.Keys(c)) {
		total += c[kind]
		t.Logf("%8d comparisons: %s", c[kind], kind)
	}
	fmt.Printf("%s: %d comparisons\n", t.Name(), total)
}
