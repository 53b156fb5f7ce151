// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"testing"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
	configv1 "k8s.io/kube-scheduler/config/v1"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

// fullLength is the number of rounds from which on no kind of comparison may be made fewer than enough times; in a run as
// long as that of make parity, those of pods with claims are made more often.
const (
	fullLength       = 6000
	enough           = 5000
	deviceLength     = 6600
	enoughForDevices = 50000
)

// machine makes comparisons and counts them.
type machine struct {
	table
	// available are the plugins that random profiles are made of.
	available []configv1.Plugin
}

// newMachine returns a machine whose random profiles have no DynamicResources, which is compared in clusters with devices.
func newMachine() *machine {
	return &machine{available: slices.DeleteFunc(defaultPlugins(), func(p configv1.Plugin) bool { return p.Name == "DynamicResources" })}
}

// comparison is one sort of round. It uses nothing but random numbers from its seed, and fails the test if the two sides
// disagree.
type comparison struct {
	name string
	// one of so many rounds is run: the slower ones more seldom.
	oneIn int
	run   func(round)
}

// round is one run of a comparison.
type round struct {
	*testing.T
	ctx  context.Context // ends with the round, and with it what kube-scheduler's frameworks do in the background
	seed uint64
}

// Context returns a context that ends with the round.
func (r round) Context() context.Context { return r.ctx }

// mismatch ends the test with what is different, and how to see it again.
func (r round) mismatch(format string, args ...any) {
	r.Helper()
	r.Fatalf("SEED=%d N=1: %s", r.seed, fmt.Sprintf(format, args...))
}

func (c comparison) round(t *testing.T, seed uint64) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c.run(round{t, ctx, seed})
}

func (m *machine) comparisons() []comparison {
	return []comparison{
		{"verdicts", 1, m.compareVerdicts},
		{"hints", 1, m.compareHints},
		{"object diffs", 1, m.compareObjectDiffs},
		{"event maps", 1, m.compareEventMaps},
		{"histories", 6, m.compareHistories},
		{"volumes", 1, m.compareVolumes},
		{"devices", 1, m.compareDevices},
		{"device hints", 1, m.compareDeviceHints},
		{"scores of devices", 1, m.compareServedScores},
		{"configurations", 1, m.compareConfigurations},
		{"preemptions", 1, m.comparePreemptions},
	}
}

// TestParity compares all there is to compare, N rounds of it, and prints how often.
func TestParity(t *testing.T) {
	settings := readSettings(t)
	m := newMachine()
	t.Run("of", func(t *testing.T) {
		for _, comparison := range m.comparisons() {
			t.Run(comparison.name, func(t *testing.T) {
				t.Parallel()
				for i := 0; i < settings.rounds && !t.Failed(); i += comparison.oneIn {
					comparison.round(t, settings.roundSeed(i))
				}
			})
		}
	})
	fmt.Printf("SEED=%d N=%d\n%s", settings.seed, settings.rounds, m.table.String())
	if few := m.below(enough); settings.rounds >= fullLength && len(few) > 0 {
		t.Errorf("fewer than %d comparisons: %v", enough, few)
	}
	for _, kind := range append(deviceKinds(), deviceHintKinds()...) {
		if n := m.counts[kind]; settings.rounds >= deviceLength && n < enoughForDevices {
			t.Errorf("fewer than %d comparisons: %s (%d)", enoughForDevices, kind, n)
		}
	}
}

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
	return settings{seed: number("SEED", 1), rounds: int(number("N", 200))}
}

// roundSeed returns the seed of a round. The first round has the seed that was set, so that a round can be repeated alone;
// the others have seeds that no other setting has.
func (s settings) roundSeed(round int) uint64 {
	if round == 0 {
		return s.seed
	}
	return newGenerator(s.seed ^ uint64(round)<<32).Uint64()
}

// TestMain prepares what kube-scheduler keeps in package variables.
func TestMain(m *testing.M) {
	metrics.Register()
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	klog.SetLogger(discard)
	// One of the handlers sleeps between two errors, by a clock that is not that of a test.
	utilruntime.ErrorHandlers = nil
	os.Exit(m.Run())
}
