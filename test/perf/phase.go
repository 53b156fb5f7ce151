// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"time"

	"github.com/rouse-scheduler/rouse/test/cluster"
)

// Outcome is what a run showed.
type Outcome struct {
	// Pods were scheduled in the measured phase, which took Seconds: from its beginning to the last of them.
	Pods    int     `json:"pods"`
	Seconds float64 `json:"seconds"`
	// PodsPerSecond is the average over the phase, and the percentiles over its seconds.
	PodsPerSecond Throughput `json:"podsPerSecond"`
	// CPUSeconds is what the process of the scheduler used in the phase, and TotalCPUSeconds since its start.
	CPUSeconds      float64 `json:"cpuSeconds"`
	TotalCPUSeconds float64 `json:"totalCPUSeconds"`
	// PeakBytes is the largest resident set of the process so far.
	PeakBytes int64 `json:"peakBytes"`
	// Attempts is how long the attempts of the phase took, by their result, as the metrics of the scheduler say.
	Attempts map[string]Latency `json:"attempts"`
	// Requests is how many requests of each method it sent in the phase.
	Requests map[string]int `json:"requests,omitempty"`
}

// Throughput is in pods a second.
type Throughput struct {
	Average float64 `json:"average"`
	Perc50  float64 `json:"perc50"`
	Perc90  float64 `json:"perc90"`
	Perc95  float64 `json:"perc95"`
	Perc99  float64 `json:"perc99"`
}

// phaseOf says which pods the measured phase is about.
type phaseOf struct {
	namespaces []string
	labels     map[string]string
}

// phase is the measured phase while it lasts.
type phase struct {
	phaseOf
	start    time.Time
	usage    cluster.Usage
	metrics  *readings
	profiled chan error // nil without a profile
}

// beginPhase begins the measured phase.
func (r *run) beginPhase(ctx context.Context, of phaseOf) error {
	if r.phase != nil || r.outcome.Seconds > 0 {
		return errors.New("the workload has two measured phases, and the runner knows one")
	}
	metrics, err := r.readMetrics(ctx)
	if err != nil {
		return err
	}
	usage, err := r.scheduler.Usage()
	if err != nil {
		return err
	}
	r.phase = &phase{phaseOf: of, usage: usage, metrics: metrics}
	if r.profile != "" {
		profiled := make(chan error, 1) // the phase may be over before the profile is
		r.phase.profiled = profiled
		go func() { profiled <- r.writeProfile(context.WithoutCancel(ctx)) }()
	}
	r.phase.start = time.Now()
	return nil
}

// endPhase ends it, and works out what it showed.
func (r *run) endPhase(ctx context.Context) error {
	p := r.phase
	if p == nil {
		return errors.New("there is no measured phase to end")
	}
	r.phase = nil
	end := time.Now()
	usage, err := r.scheduler.Usage()
	if err != nil {
		return err
	}
	metrics, err := r.readMetrics(ctx)
	if err != nil {
		return err
	}
	times := r.pods.scheduledSince(p.start, p.namespaces, p.labels)
	if len(times) > 0 {
		end = times[len(times)-1]
	}
	r.outcome = Outcome{
		Pods: len(times), Seconds: end.Sub(p.start).Seconds(), PodsPerSecond: throughput(p.start, times),
		CPUSeconds: (usage.CPU - p.usage.CPU).Seconds(), TotalCPUSeconds: usage.CPU.Seconds(), PeakBytes: usage.PeakRSS,
		Attempts: metrics.attempts.since(p.metrics.attempts), Requests: metrics.requestsSince(p.metrics),
	}
	if p.profiled != nil {
		return <-p.profiled
	}
	return nil
}

// throughput is the average until the last pod, and percentiles over all seconds that were over by then. A phase that is
// over within a second has the average for all of them.
func throughput(start time.Time, scheduled []time.Time) Throughput {
	if len(scheduled) == 0 {
		return Throughput{}
	}
	elapsed := scheduled[len(scheduled)-1].Sub(start)
	average := float64(len(scheduled)) / elapsed.Seconds()
	samples := make([]float64, int(elapsed/time.Second))
	for _, at := range scheduled {
		if second := int(at.Sub(start) / time.Second); second < len(samples) {
			samples[second]++
		}
	}
	if len(samples) == 0 {
		samples = []float64{average}
	}
	slices.Sort(samples)
	percentile := func(p float64) float64 { return samples[max(0, int(math.Ceil(p*float64(len(samples))))-1)] }
	return Throughput{Average: average, Perc50: percentile(0.5), Perc90: percentile(0.9), Perc95: percentile(0.95), Perc99: percentile(0.99)}
}

// profileSeconds is how long a profile takes.
const profileSeconds = 8

// writeProfile has the scheduler profile itself.
func (r *run) writeProfile(ctx context.Context) error {
	answer, err := r.scheduler.Read(ctx, fmt.Sprintf("/debug/pprof/profile?seconds=%d", profileSeconds), r.token)
	if err != nil {
		return err
	}
	return os.WriteFile(r.profile, []byte(answer.Body), 0o644)
}
