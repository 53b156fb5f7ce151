// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
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
	var b strings.Builder
	for i := range report.Rows {
		row := &report.Rows[i]
		if row.Workload != what {
			continue
		}
		if b.Len() == 0 {
			fmt.Fprintf(&b, "| case | %s | Rouse | kube-scheduler | ratio | wanted | kube-scheduler, all nodes | spread | allocations |\n", row.Unit)
			b.WriteString("| --- | --: | --: | --: | --: | --: | --: | --: | --: |\n")
		}
		ours, theirs, all := row.Results[Rouse], row.Results[KubeScheduler], row.Results[KubeSchedulerAllNodes]
		fmt.Fprintf(&b, "| %s | %d | %s | %s | %s | %s | %s | %s, %s | %s, %s |\n", row.Case, row.Size,
			cost(row.Metric, ours), cost(row.Metric, theirs), ratio(row.Metric, theirs, ours), wanted(row.Target),
			cost(row.Metric, all), percent(row.Metric, ours), percent(row.Metric, theirs), count(ours), count(theirs))
	}
	return b.String()
}
