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

// fillPage replaces the tables on a page by those of a report. Rows that the report lacks stay on the page.
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

// place is where something of a report belongs on a page: the machine, or the table of a workload.
type place struct {
	before string // the text between the last place and this one
	what   string
	old    string // what is there
}

func fill(page string, report *Report) (string, error) {
	places, after, err := placesOn(page)
	if err != nil {
		return "", err
	}
	contents := make([]string, len(places))
	complete := true // no row is older than the report
	for i := range places {
		var keeps bool
		if contents[i], keeps, err = places[i].table(report); err != nil {
			return "", err
		}
		complete = complete && !keeps
	}
	var b strings.Builder
	for i, p := range places {
		if p.what == "machine" {
			if contents[i] = p.old; complete {
				contents[i] = machineOf(report)
			}
		}
		fmt.Fprintf(&b, "%s%s%s -->\n%s%s", p.before, placeBegins, p.what, contents[i], placeEnds)
	}
	return b.String() + after, nil
}

func placesOn(page string) (places []place, after string, err error) {
	for {
		before, rest, found := strings.Cut(page, placeBegins)
		if !found {
			return places, before, nil
		}
		what, rest, ok := strings.Cut(rest, " -->\n")
		old, after, ended := strings.Cut(rest, placeEnds)
		if !ok || !ended {
			return nil, "", fmt.Errorf("no %q after %q", placeEnds, placeBegins+what)
		}
		places, page = append(places, place{before, what, old}), after
	}
}

func machineOf(report *Report) string {
	m := report.Machine
	return fmt.Sprintf("Measured on %s: %d CPUs (%s), %s, %s; kube-scheduler %s; medians of %d runs.\n",
		report.Started.Format("2 January 2006"), m.CPUs, m.Model, m.OS, m.Go, m.KubeScheduler, report.Runs)
}

// table returns the table of a workload, and whether it keeps rows of the old one.
func (p *place) table(report *Report) (_ string, keeps bool, _ error) {
	measured := linesOf(p.what, report)
	if len(measured) == 0 {
		return p.old, p.old != "" && p.what != "machine", nil
	}
	lines := slices.Collect(strings.Lines(p.old))
	missing := slices.ContainsFunc(lines[min(headerLines, len(lines)):], func(line string) bool { return indexOfRow(measured, line) < 0 })
	if !missing {
		return strings.Join(measured, ""), false, nil
	}
	if lines[0] != measured[0] {
		return "", false, fmt.Errorf("the table of %s has other columns, and rows that are not in the report: measure all of its rows", p.what)
	}
	for i, line := range lines {
		if at := indexOfRow(measured, line); i >= headerLines && at >= 0 {
			lines[i] = measured[at]
			measured = slices.Delete(measured, at, at+1)
		}
	}
	return strings.Join(append(lines, measured[headerLines:]...), ""), true, nil
}

// indexOfRow returns the index of the line about the same case of the same size.
func indexOfRow(lines []string, line string) int {
	return slices.IndexFunc(lines, func(other string) bool { return rowName(other) == rowName(line) })
}

// rowName is the first two cells of a line.
func rowName(line string) string {
	cells := strings.SplitN(line, "|", 4)
	return strings.Join(cells[:min(3, len(cells))], "|")
}

// headerLines is how many lines of a table come before the rows.
const headerLines = 2

// linesOf are the lines of the table of a workload, none if the report has no rows of it.
func linesOf(workload string, report *Report) (lines []string) {
	rows := slices.DeleteFunc(slices.Clone(report.Rows), func(r Row) bool { return r.Workload != workload })
	if len(rows) == 0 {
		return nil
	}
	columns := columnsOf(rows)
	unit, size := rows[0].Unit, func(r *Row) string { return strconv.Itoa(r.Size) }
	if slices.ContainsFunc(rows, func(r Row) bool { return r.Unit != unit }) {
		unit, size = "size", func(r *Row) string { return fmt.Sprintf("%d %s", r.Size, r.Unit) }
	}
	titles := []string{"case", unit}
	for _, c := range columns {
		titles = append(titles, c.title)
	}
	lines = append(lines, lineOf(titles), "| --- |"+strings.Repeat(" --: |", 1+len(columns))+"\n")
	for i := range rows {
		cells := []string{rows[i].Case, size(&rows[i])}
		for _, c := range columns {
			cells = append(cells, c.cell(&rows[i]))
		}
		lines = append(lines, lineOf(cells))
	}
	return lines
}

func lineOf(cells []string) string { return "| " + strings.Join(cells, " | ") + " |\n" }
