// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
	"time"
)

// writeTable writes the rows as an aligned table. Times are for one operation, wall (CPU); ratios likewise.
func writeTable(to io.Writer, rows []Row) error {
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "WORKLOAD\tCASE\tSIZE\tROUSE\tALLOCS\tKUBE-SCHEDULER\tALLOCS\tRATIO\tTARGET\tSPREAD\tKUBE-SCHEDULER, ALL NODES\tRATIO")
	for i := range rows {
		row := &rows[i]
		ours, theirs, all := row.Results[Rouse], row.Results[KubeScheduler], row.Results[KubeSchedulerAllNodes]
		fmt.Fprintf(table, "%s\t%s\t%d %s\t%s\t%s\t%s\t%s\t%s\t%s\t%s, %s\t%s\t%s\n",
			row.Workload, row.Case, row.Size, row.Unit,
			cost(row.Metric, ours), count(ours), cost(row.Metric, theirs), count(theirs), ratio(row.Metric, theirs, ours), wanted(row.Target),
			percent(row.Metric, ours), percent(row.Metric, theirs), cost(row.Metric, all), ratio(row.Metric, all, ours))
	}
	return table.Flush()
}

// cost is what a row is about, with the CPU time if that is wall time.
func cost(metric Metric, r *Result) string {
	if r == nil {
		return "-"
	}
	if metric == HeapBytes || metric == ResidentBytes {
		return fmt.Sprintf("%.1f MiB", r.Median[metric]/(1<<20))
	}
	return fmt.Sprintf("%s (%s)", duration(r.Median[WallNanos]), duration(r.Median[CPUNanos]))
}

func wanted(target float64) string {
	if target == 0 {
		return "-"
	}
	return number(target) + "x"
}

func count(r *Result) string {
	if r == nil {
		return "-"
	}
	allocations, ok := r.Median[Allocations]
	if !ok {
		return "-"
	}
	return number(allocations)
}

func ratio(metric Metric, theirs, ours *Result) string {
	if theirs == nil || ours == nil {
		return "-"
	}
	of := func(metric Metric) string {
		if ours.Median[metric] == 0 {
			return "-"
		}
		return number(theirs.Median[metric]/ours.Median[metric]) + "x"
	}
	if metric == HeapBytes || metric == ResidentBytes {
		return of(metric)
	}
	return fmt.Sprintf("%s (%s)", of(WallNanos), of(CPUNanos))
}

func percent(metric Metric, r *Result) string {
	if r == nil {
		return "-"
	}
	return fmt.Sprintf("%.0f%%", 100*r.Spread[metric])
}

// duration writes nanoseconds with three digits.
func duration(nanos float64) string {
	switch {
	case nanos < 1e3:
		return number(nanos) + " ns"
	case nanos < 1e6:
		return number(nanos/1e3) + " µs"
	case nanos < 1e9:
		return number(nanos/1e6) + " ms"
	}
	return number(nanos/float64(time.Second)) + " s"
}

// number writes a number with three significant digits, and larger ones in full.
func number(x float64) string {
	switch {
	case x >= 100:
		return strconv.FormatFloat(x, 'f', 0, 64)
	case x >= 10:
		return strconv.FormatFloat(x, 'f', 1, 64)
	}
	return strconv.FormatFloat(x, 'f', 2, 64)
}
