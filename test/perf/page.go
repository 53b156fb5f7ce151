// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"strings"
)

// A page has one place for the table, between these two lines.
const (
	placeBegins = "<!-- perf -->\n"
	placeEnds   = "<!-- end -->"
)

// fillPage replaces the table on a page by that of a report.
func fillPage(name string, report *Report) error {
	page, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("filling in the table of a page: %w", err)
	}
	before, rest, begins := strings.Cut(string(page), placeBegins)
	_, after, ends := strings.Cut(rest, placeEnds)
	if !begins || !ends {
		return fmt.Errorf("filling in the table of %s: it has no place for one, between the lines %q and %q", name, placeBegins, placeEnds)
	}
	return os.WriteFile(name, []byte(before+placeBegins+markdown(report)+placeEnds+after), 0o644)
}

// markdown is the table of a report.
func markdown(report *Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Measured on %s: %d CPUs, %s.\n\n| workload |", report.Started.Format("2 January 2006"), report.CPUs, report.Go)
	for _, c := range columns() {
		fmt.Fprintf(&b, " %s |", c.title)
	}
	fmt.Fprintf(&b, "\n| --- |%s\n", strings.Repeat(" --: |", len(columns())))
	for i := range report.Rows {
		fmt.Fprintf(&b, "| %s |", report.Rows[i].name())
		for _, c := range columns() {
			fmt.Fprintf(&b, " %s |", c.cell(&report.Rows[i]))
		}
		b.WriteString("\n")
	}
	return b.String()
}
