// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// A page has places for tables, between a line with <!-- bench: workload --> and one with <!-- end --> each.
const (
	placeBegins = "<!-- bench: "
	placeEnds   = "<!-- end -->"
)

// fillPage replaces the tables on a page by those of a report.
func fillPage(name string, report *Report) error {
	page, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("filling in the tables of a page: %w", err)
	}
	filled, err := fill(string(page), report)
	if err != nil {
		return fmt.Errorf("filling in the tables of %s: %w", name, err)
	}
	return os.WriteFile(name, []byte(filled), 0o644)
}

func fill(page string, report *Report) (string, error) {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(page, placeBegins)
		b.WriteString(before)
		if !found {
			return b.String(), nil
		}
		what, rest, ok := strings.Cut(rest, " -->\n")
		_, after, ended := strings.Cut(rest, placeEnds)
		if !ok || !ended {
			return "", fmt.Errorf("no %q after %q", placeEnds, placeBegins+what)
		}
		fmt.Fprintf(&b, "%s%s -->\n%s%s", placeBegins, what, contentFor(what, report), placeEnds)
		page = after
	}
}

// contentFor is what belongs in a place: the machine, or the table of a workload.
func contentFor(what string, report *Report) string {
	if what == "machine" {
		m := report.Machine
		return fmt.Sprintf("Measured on %s: %d CPUs (%s), %s, %s; kube-scheduler %s; medians of %d runs.\n",
			report.Started.Format("2 January 2006"), m.CPUs, m.Model, m.OS, m.Go, m.KubeScheduler, report.Runs)
	}
	rows := slices.DeleteFunc(slices.Clone(report.Rows), func(r Row) bool { return r.Workload != what })
	if len(rows) == 0 {
		return ""
	}
	var b strings.Builder
	columns := columnsOf(rows)
	unit, size := rows[0].Unit, func(r *Row) string { return strconv.Itoa(r.Size) }
	if slices.ContainsFunc(rows, func(r Row) bool { return r.Unit != unit }) {
		unit, size = "size", func(r *Row) string { return fmt.Sprintf("%d %s", r.Size, r.Unit) }
	}
	fmt.Fprintf(&b, "| case | %s |", unit)
	for _, c := range columns {
		fmt.Fprintf(&b, " %s |", c.title)
	}
	fmt.Fprintf(&b, "\n| --- |%s\n", strings.Repeat(" --: |", 1+len(columns)))
	for i := range rows {
		fmt.Fprintf(&b, "| %s | %s |", rows[i].Case, size(&rows[i]))
		for _, c := range columns {
			fmt.Fprintf(&b, " %s |", c.cell(&rows[i]))
		}
		b.WriteString("\n")
	}
	return b.String()
}
