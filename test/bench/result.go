// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Format names the version of the JSON that a [Report] is written as. Field names only change together with it.
const Format = "rouse.bench/v1"

// Contender is who does the work.
type Contender string

// The contenders, under their names in the JSON.
const (
	Rouse Contender = "rouse"
	// KubeScheduler runs with its defaults.
	KubeScheduler Contender = "kubeScheduler"
	// KubeSchedulerAllNodes runs with percentageOfNodesToScore: 100.
	KubeSchedulerAllNodes Contender = "kubeSchedulerAllNodes"
)

// Metric is something measured, under its name in the JSON.
type Metric string

// The metrics. The first four are for one operation of the row: a decision, an event, a bound pod.
const (
	WallNanos      Metric = "wallNanos"
	CPUNanos       Metric = "cpuNanos"
	Allocations    Metric = "allocations"
	AllocatedBytes Metric = "allocatedBytes"
	// HeapBytes is what is kept, measured after garbage collection.
	HeapBytes Metric = "heapBytes"
	// ResidentBytes is the largest resident set of a process.
	ResidentBytes Metric = "residentBytes"
)

// Sample is what one run showed.
type Sample map[Metric]float64

// Report is everything that one invocation measured.
type Report struct {
	Format  string    `json:"format"`
	Started time.Time `json:"started"`
	Machine Machine   `json:"machine"`
	Runs    int       `json:"runs"`
	Rows    []Row     `json:"rows"`
}

// Row is the outcome of one piece of work.
type Row struct {
	// Workload, Case and Size identify the row. Size is the number of nodes or pods that the work grows with, as Unit says.
	Workload string `json:"workload"`
	Case     string `json:"case"`
	Size     int    `json:"size"`
	Unit     string `json:"unit"`
	// Metric is what the row is about.
	Metric Metric `json:"metric"`
	// Results are by contender.
	Results map[Contender]*Result `json:"results"`
	// Ratio is how many times as much kube-scheduler, with its defaults, takes of each metric. Metrics of which Rouse takes
	// nothing have none.
	Ratio map[Metric]float64 `json:"ratio,omitempty"`
	// Target is the ratio of Metric that the project wants, CPUTarget that of CPUNanos where it is another; zero if there is
	// none.
	Target    float64 `json:"target,omitempty"`
	CPUTarget float64 `json:"cpuTarget,omitempty"`
}

// Result is what one contender did.
type Result struct {
	Runs   []Sample           `json:"runs"`
	Median Sample             `json:"median"`
	Spread map[Metric]float64 `json:"spread"`
}

// name is what rows are selected by.
func (r *Row) name() string { return fmt.Sprintf("%s/%s/%d", r.Workload, r.Case, r.Size) }

// add takes in another run.
func (r *Row) add(who Contender, sample Sample) {
	if r.Results[who] == nil {
		r.Results[who] = &Result{}
	}
	r.Results[who].Runs = append(r.Results[who].Runs, sample)
}

// summarise fills in what follows from the runs.
func (r *Row) summarise() {
	for _, result := range r.Results {
		result.Median, result.Spread = Sample{}, map[Metric]float64{}
		for metric := range result.Runs[0] {
			result.Median[metric], result.Spread[metric] = medianAndSpread(result.Runs, metric)
		}
	}
	ours, theirs := r.Results[Rouse], r.Results[KubeScheduler]
	if ours == nil || theirs == nil {
		return
	}
	r.Ratio = map[Metric]float64{}
	for metric, value := range ours.Median {
		if value > 0 && theirs.Median[metric] > 0 {
			r.Ratio[metric] = theirs.Median[metric] / value
		}
	}
}

// medianAndSpread returns the median, the lower of the two middle ones if there are two, and the distance between the
// extremes as a share of it.
func medianAndSpread(runs []Sample, metric Metric) (median, spread float64) {
	values := make([]float64, 0, len(runs))
	for _, run := range runs {
		values = append(values, run[metric])
	}
	slices.SortFunc(values, cmp.Compare[float64])
	median = values[(len(values)-1)/2]
	if median > 0 {
		spread = (values[len(values)-1] - values[0]) / median
	}
	return median, spread
}
