// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
)

// column is what a table says of each row.
type column struct {
	title string
	cell  func(*Row) string
}

// nothing is what a cell has where there is nothing to say.
const nothing = "-"

// columns are those of every table.
func columns() []column {
	throughput := func(o *Outcome) float64 { return o.PodsPerSecond.Average }
	cpu := func(o *Outcome) float64 { return o.CPUSeconds }
	memory := func(o *Outcome) float64 { return float64(o.PeakBytes) / (1 << 20) }
	attempt := func(quantile func(Latency) float64) func(*Outcome) float64 {
		return func(o *Outcome) float64 { return 1000 * quantile(o.Attempts["scheduled"]) }
	}
	return []column{
		{"pods", func(r *Row) string { return one(r, func(o *Outcome) float64 { return float64(o.Pods) }) }},
		{"pods/s", func(r *Row) string { return both(r, throughput) }},
		{"ratio", func(r *Row) string { return ratio(r, rouse, kubeScheduler, throughput) }},
		{"p50 pods/s", func(r *Row) string { return both(r, func(o *Outcome) float64 { return o.PodsPerSecond.Perc50 }) }},
		{"threshold", func(r *Row) string { return number(r.Threshold) }},
		{"CPU s", func(r *Row) string { return both(r, cpu) }},
		{"CPU ratio", func(r *Row) string { return ratio(r, kubeScheduler, rouse, cpu) }},
		{"peak MiB", func(r *Row) string { return both(r, memory) }},
		{"memory ratio", func(r *Row) string { return ratio(r, kubeScheduler, rouse, memory) }},
		{"attempt p50 ms", func(r *Row) string { return both(r, attempt(func(l Latency) float64 { return l.Perc50 })) }},
		{"attempt p99 ms", func(r *Row) string { return both(r, attempt(func(l Latency) float64 { return l.Perc99 })) }},
		{"requests/pod", func(r *Row) string { return both(r, (*Outcome).requestsPerPod) }},
		{"note", func(r *Row) string { return r.note() }},
	}
}

// requestsPerPod is how many requests the scheduler sent for each pod that was scheduled.
func (o *Outcome) requestsPerPod() float64 {
	if o.Pods == 0 {
		return 0
	}
	sum := 0
	for _, count := range o.Requests {
		sum += count
	}
	return float64(sum) / float64(o.Pods)
}

// note says why a row lacks results.
func (r *Row) note() string {
	if r.Unbuilt != "" {
		return "not built: " + r.Unbuilt
	}
	for _, who := range []string{rouse, kubeScheduler} {
		if r.Failures[who] != "" {
			return who + " failed"
		}
	}
	return nothing
}

// one is a figure that is the same for both.
func one(r *Row, figure func(*Outcome) float64) string {
	for _, who := range []string{rouse, kubeScheduler} {
		if value, ok := r.median(who, figure); ok {
			return number(value)
		}
	}
	return nothing
}

// both is a figure of Rouse, then of kube-scheduler.
func both(r *Row, figure func(*Outcome) float64) string {
	cell := func(who string) string {
		value, ok := r.median(who, figure)
		if !ok {
			return nothing
		}
		return number(value)
	}
	ours, theirs := cell(rouse), cell(kubeScheduler)
	if ours == nothing && theirs == nothing {
		return nothing
	}
	return ours + ", " + theirs
}

// ratio is a figure of one scheduler over that of another.
func ratio(r *Row, of, over string, figure func(*Outcome) float64) string {
	a, okA := r.median(of, figure)
	b, okB := r.median(over, figure)
	if !okA || !okB || a == 0 || b == 0 {
		return nothing
	}
	return number(a/b) + "x"
}

// number writes a number with three digits; zero is nothing.
func number(x float64) string {
	switch {
	case x == 0:
		return nothing
	case x >= 100:
		return strconv.FormatFloat(x, 'f', 0, 64)
	case x >= 10:
		return strconv.FormatFloat(x, 'f', 1, 64)
	}
	return strconv.FormatFloat(x, 'f', 2, 64)
}

// writeTable writes rows as an aligned table: of two figures, that of Rouse is the first.
func writeTable(to io.Writer, rows []Row) error {
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprint(table, "workload")
	for _, c := range columns() {
		fmt.Fprint(table, "\t", c.title)
	}
	fmt.Fprintln(table)
	for i := range rows {
		fmt.Fprint(table, rows[i].name())
		for _, c := range columns() {
			fmt.Fprint(table, "\t", c.cell(&rows[i]))
		}
		fmt.Fprintln(table)
	}
	return table.Flush()
}
