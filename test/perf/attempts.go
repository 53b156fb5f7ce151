// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math"
	"slices"
)

// Latency is in seconds, as precise as the buckets of the histogram are.
type Latency struct {
	Count  uint64  `json:"count"`
	Mean   float64 `json:"mean"`
	Perc50 float64 `json:"perc50"`
	Perc99 float64 `json:"perc99"`
}

// attemptMetric is the histogram of the attempts of a scheduler.
const attemptMetric = "scheduler_scheduling_attempt_duration_seconds"

// histogram has how many observations were at most so large, by the upper bounds of its buckets in order.
type histogram struct {
	bounds     []float64
	cumulative []uint64
	count      uint64
	sum        float64
}

// histograms are those of one metric by the result of the attempt, over all profiles.
type histograms map[string]histogram

func attemptsIn(families metricFamilies) histograms {
	read := histograms{}
	for _, metric := range families[attemptMetric].GetMetric() {
		result := labelOf(metric, "result")
		h := read[result]
		h.count += metric.GetHistogram().GetSampleCount()
		h.sum += metric.GetHistogram().GetSampleSum()
		for i, bucket := range metric.GetHistogram().GetBucket() {
			if i == len(h.bounds) {
				h.bounds, h.cumulative = append(h.bounds, bucket.GetUpperBound()), append(h.cumulative, 0)
			}
			h.cumulative[i] += bucket.GetCumulativeCount()
		}
		read[result] = h
	}
	return read
}

// since returns the latencies of what was observed after an earlier reading.
func (h histograms) since(earlier histograms) map[string]Latency {
	latencies := map[string]Latency{}
	for result, now := range h {
		before := earlier[result]
		now.cumulative = slices.Clone(now.cumulative)
		for i := range before.cumulative {
			now.cumulative[i] -= before.cumulative[i]
		}
		now.count -= before.count
		now.sum -= before.sum
		if now.count > 0 {
			latencies[result] = Latency{
				Count: now.count, Mean: now.sum / float64(now.count), Perc50: now.quantile(0.5), Perc99: now.quantile(0.99),
			}
		}
	}
	return latencies
}

// quantile interpolates within the bucket, as PromQL does.
func (h histogram) quantile(q float64) float64 {
	rank := q * float64(h.count)
	lower, below := 0.0, 0.0
	for i, bound := range h.bounds {
		if upTo := float64(h.cumulative[i]); upTo >= rank {
			if math.IsInf(bound, 1) || upTo == below {
				return lower
			}
			return lower + (bound-lower)*(rank-below)/(upTo-below)
		}
		lower, below = bound, float64(h.cumulative[i])
	}
	return lower
}
