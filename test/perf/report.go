// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"io/fs"
	"runtime"
	"slices"
	"time"

	"github.com/rouse-scheduler/rouse/test/reportfile"
)

// Format names the version of the JSON that a [Report] is written as. Field names only change together with it.
const Format = "rouse.perf/v1"

// Report is everything that one invocation measured.
type Report struct {
	Format  string    `json:"format"`
	Started time.Time `json:"started"`
	CPUs    int       `json:"cpus"`
	Go      string    `json:"go"`
	Rows    []Row     `json:"rows"`
}

// Row is a workload.
type Row struct {
	Topic string `json:"topic"`
	Case  string `json:"case"`
	Size  string `json:"size"`
	// Threshold is the least throughput on upstream's machines, in pods a second; zero is none.
	Threshold float64 `json:"threshold,omitempty"`
	// Unbuilt names what the workload needs and Rouse does not build.
	Unbuilt string `json:"unbuilt,omitempty"`
	// Results are what each run showed, and Failures why there is no result, by the name of the scheduler.
	Results  map[string][]Outcome `json:"results"`
	Failures map[string]string    `json:"failures,omitempty"`
}

func (r *Row) name() string { return r.Topic + "/" + r.Case + "/" + r.Size }

// median returns the median of a figure over the runs of a scheduler; no runs have none.
func (r *Row) median(who string, figure func(*Outcome) float64) (value float64, ok bool) {
	var values []float64
	for i := range r.Results[who] {
		values = append(values, figure(&r.Results[who][i]))
	}
	if len(values) == 0 {
		return 0, false
	}
	slices.Sort(values)
	return values[len(values)/2], true
}

// has reports whether the report has a row for a workload.
func (r *Report) has(w *workload) bool {
	return slices.ContainsFunc(r.Rows, func(row Row) bool { return row.name() == w.name() })
}

// newReport returns an empty report, or the one to go on with.
func (c *command) newReport() (*Report, error) {
	if c.resume {
		earlier, err := reportfile.Read[Report](c.json, Format)
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return earlier, err
		}
	}
	return &Report{Format: Format, Started: time.Now().UTC(), CPUs: runtime.GOMAXPROCS(0), Go: runtime.Version()}, nil
}

// save writes the report if a file is named.
func (c *command) save(report *Report) error {
	if c.json == "" {
		return nil
	}
	slices.SortStableFunc(report.Rows, func(a, b Row) int { return cmp.Compare(a.Topic+"/"+a.Case, b.Topic+"/"+b.Case) })
	return reportfile.Write(c.json, report)
}
