// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// column is what a table says of each row.
type column struct {
	title string
	cell  func(*Row) string
}

// nothing is what a cell has where there is nothing to say.
const nothing = "-"

// columnsOf returns the columns of a table of these rows, without those that say nothing of any of them.
func columnsOf(rows []Row) []column {
	columns := []column{
		{"Rouse", func(r *Row) string { return cost(r, Rouse) }},
		{"kube-scheduler", func(r *Row) string { return cost(r, KubeScheduler) }},
		{"ratio", func(r *Row) string { return ratio(r, KubeScheduler) }},
		{"target", target},
		{"spread", spreads},
		{"kube-scheduler, all nodes", func(r *Row) string { return cost(r, KubeSchedulerAllNodes) }},
		{"ratio, all nodes", func(r *Row) string { return ratio(r, KubeSchedulerAllNodes) }},
		{"allocations", func(r *Row) string { return both(r, Allocations, number) }},
		{"peak memory", func(r *Row) string { return both(r, ResidentBytes, mebibytes) }},
		{"live heap", liveHeaps},
	}
	return slices.DeleteFunc(columns, func(c column) bool {
		return !slices.ContainsFunc(rows, func(r Row) bool { return c.cell(&r) != nothing })
	})
}

// liveHeaps are those of Rouse and of kube-scheduler in rows that are about something else.
func liveHeaps(row *Row) string {
	if row.Metric == HeapBytes {
		return nothing
	}
	return both(row, HeapBytes, mebibytes)
}

// writeTable writes the rows as an aligned table.
func writeTable(to io.Writer, rows []Row) error {
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	columns := columnsOf(rows)
	fmt.Fprint(table, "WORKLOAD\tCASE\tSIZE")
	for _, c := range columns {
		fmt.Fprint(table, "\t", strings.ToUpper(c.title))
	}
	fmt.Fprintln(table)
	for i := range rows {
		row := &rows[i]
		fmt.Fprintf(table, "%s\t%s\t%d %s", row.Workload, row.Case, row.Size, row.Unit)
		for _, c := range columns {
			fmt.Fprint(table, "\t", c.cell(row))
		}
		fmt.Fprintln(table)
	}
	return table.Flush()
}

// cost is what a contender takes of what a row is about: of time, wall time and in brackets CPU time.
func cost(row *Row, who Contender) string {
	r := row.Results[who]
	switch {
	case r == nil:
		return nothing
	case row.Metric == WallNanos:
		return fmt.Sprintf("%s (%s)", duration(r.Median[WallNanos]), duration(r.Median[CPUNanos]))
	}
	return mebibytes(r.Median[row.Metric])
}

// ratio is how many times as much as Rouse another contender takes, as in cost.
func ratio(row *Row, who Contender) string {
	theirs, ours := row.Results[who], row.Results[Rouse]
	if theirs == nil || ours == nil {
		return nothing
	}
	of := func(metric Metric) string {
		if ours.Median[metric] == 0 {
			return nothing
		}
		return number(theirs.Median[metric]/ours.Median[metric]) + "x"
	}
	if row.Metric == WallNanos {
		return fmt.Sprintf("%s (%s)", of(WallNanos), of(CPUNanos))
	}
	return of(row.Metric)
}

// target is the ratio that the project aims at, as in ratio; in brackets that of CPU time, if different.
func target(row *Row) string {
	switch {
	case row.Target == 0:
		return nothing
	case row.CPUTarget == 0:
		return fmt.Sprintf("%gx", row.Target)
	}
	return fmt.Sprintf("%gx (%gx)", row.Target, row.CPUTarget)
}

// spreads are those of Rouse and of kube-scheduler, as in cost.
func spreads(row *Row) string {
	of := func(who Contender) string {
		r := row.Results[who]
		switch {
		case r == nil:
			return nothing
		case row.Metric == WallNanos:
			return fmt.Sprintf("%.0f%% (%.0f%%)", 100*r.Spread[WallNanos], 100*r.Spread[CPUNanos])
		}
		return fmt.Sprintf("%.0f%%", 100*r.Spread[row.Metric])
	}
	return of(Rouse) + ", " + of(KubeScheduler)
}

// both is a metric of Rouse and of kube-scheduler.
func both(row *Row, metric Metric, write func(float64) string) string {
	of := func(who Contender) string {
		if r := row.Results[who]; r != nil {
			if value, ok := r.Median[metric]; ok {
				return write(value)
			}
		}
		return nothing
	}
	ours, theirs := of(Rouse), of(KubeScheduler)
	if ours == nothing && theirs == nothing {
		return nothing
	}
	return ours + ", " + theirs
}

func mebibytes(bytes float64) string { return fmt.Sprintf("%.1f MiB", bytes/(1<<20)) }

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
