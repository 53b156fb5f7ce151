// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rouse-scheduler/rouse/test/reportfile"
)

func TestReport(t *testing.T) {
	row := Row{
		Workload: "cluster", Case: "basic", Size: 5, Unit: "nodes", Metric: WallNanos, Target: 1.5, CPUTarget: 6,
		Results: map[Contender]*Result{},
	}
	for _, wall := range []float64{100, 300, 200} {
		row.add(Rouse, Sample{WallNanos: wall, CPUNanos: 400, Allocations: 0, ResidentBytes: 3 << 20})
		row.add(KubeScheduler, Sample{WallNanos: 2000 + wall, CPUNanos: 2 * wall, Allocations: 7, ResidentBytes: 6 << 20})
	}
	row.summarise()
	report := Report{Format: Format, Runs: 3, Rows: []Row{row}}
	file := filepath.Join(t.TempDir(), "report.json")
	if err := reportfile.Write(file, &report); err != nil {
		t.Fatal(err)
	}
	read, err := reportfile.Read[Report](file, Format)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&report, read); diff != "" {
		t.Errorf("what was read is not what was written (-written +read):\n%s", diff)
	}
	if diff := cmp.Diff(map[Metric]float64{WallNanos: 11, CPUNanos: 1, ResidentBytes: 2}, row.Ratio); diff != "" {
		t.Errorf("the ratios, of which there is none to no allocations, are not as wanted (-want +got):\n%s", diff)
	}
	var table strings.Builder
	if err := writeTable(&table, read.Rows); err != nil {
		t.Fatal(err)
	}
	want := "" +
		"WORKLOAD  CASE   SIZE     ROUSE            KUBE-SCHEDULER    RATIO          TARGET     SPREAD                ALLOCATIONS  PEAK MEMORY\n" +
		"cluster   basic  5 nodes  200 ns (400 ns)  2.20 µs (400 ns)  11.0x (1.00x)  1.5x (6x)  100% (0%), 9% (100%)  0.00, 7.00   3.0 MiB, 6.0 MiB\n"
	if diff := cmp.Diff(want, table.String()); diff != "" {
		t.Errorf("the table is not as wanted (-want +got):\n%s", diff)
	}
}

// workFor returns rows that count how often they are measured. Those of size zero fail.
func workFor(measured map[string]int, sizes ...int) []group {
	var groups []group
	for _, size := range sizes {
		w := work{Row: Row{Workload: "w", Case: "c", Size: size, Metric: WallNanos}, quick: size != 7}
		name := w.name()
		w.runs = map[Contender]func(context.Context, *meter) (Sample, error){
			Rouse: func(context.Context, *meter) (Sample, error) {
				if size == 0 {
					return nil, errors.New("out of order")
				}
				measured[name]++
				return Sample{WallNanos: float64(size)}, nil
			},
		}
		groups = append(groups, group{work: []work{w}})
	}
	return groups
}

func TestReportThatWasCutShortGoesOn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report.json")
	c := command{selection: selection{runs: 2, progress: io.Discard}, jsonFile: file}
	measured := map[string]int{}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if _, err := c.report(stopped, workFor(measured, 1, 2, 3)); !errors.Is(err, context.Canceled) {
		t.Errorf("the error of a run that was stopped is %v", err)
	}
	if _, err := c.report(t.Context(), workFor(measured, 1, 0, 3)); err == nil {
		t.Error("a row that fails is no error")
	}
	c.resume = true
	// The row that lacks comes to its place among the others.
	if _, err := c.report(t.Context(), workFor(measured, 1, 2, 3)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int{"w/c/1": 2, "w/c/2": 2, "w/c/3": 2}, measured); diff != "" {
		t.Errorf("how often each row was measured (-want +got):\n%s", diff)
	}
	kept, err := reportfile.Read[Report](file, Format)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for i := range kept.Rows {
		names = append(names, kept.Rows[i].name())
	}
	if diff := cmp.Diff([]string{"w/c/1", "w/c/2", "w/c/3"}, names); diff != "" {
		t.Errorf("the rows (-want +got):\n%s", diff)
	}
	c.runs = 3
	if _, err := c.report(t.Context(), workFor(measured, 1, 2)); err == nil {
		t.Error("a report of two runs a row goes on with three")
	}
}

func TestSelection(t *testing.T) {
	for name, c := range map[string]struct {
		selection
		want map[string]int
	}{
		"quick": {selection{}, map[string]int{"w/c/1": 1}},
		"full":  {selection{full: true}, map[string]int{"w/c/1": 1, "w/c/7": 1}},
		"rows":  {selection{rows: regexp.MustCompile("/7$")}, map[string]int{"w/c/7": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			c.runs, c.progress = 1, io.Discard
			measured := map[string]int{}
			if err := c.measure(t.Context(), workFor(measured, 1, 7), &Report{}, func() error { return nil }); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, measured); diff != "" {
				t.Errorf("what was measured is not what was wanted (-want +got):\n%s", diff)
			}
		})
	}
}

// measuredRow is a row of one run of Rouse that took so many nanoseconds.
func measuredRow(workload, name string, wall float64) Row {
	row := Row{Workload: workload, Case: name, Size: 10, Unit: "pods", Metric: WallNanos, Target: 5, Results: map[Contender]*Result{}}
	row.add(Rouse, Sample{WallNanos: wall, CPUNanos: wall, Allocations: 2})
	row.summarise()
	return row
}

func TestPage(t *testing.T) {
	const (
		header = "| case | pods | Rouse | target | spread | allocations |\n| --- | --: | --: | --: | --: | --: |\n"
		none   = "| wakes none | 10 | 100 ns (100 ns) | 5x | 0% (0%), - | 2.00, - |\n"
		all    = "| wakes all | 10 | 200 ns (200 ns) | 5x | 0% (0%), - | 2.00, - |\n"
		faster = "| wakes all | 10 | 150 ns (150 ns) | 5x | 0% (0%), - | 2.00, - |\n"
	)
	page := func(machine, events, live string) string {
		return "before\n<!-- bench: machine -->\n" + machine + "<!-- end -->\n<!-- bench: events -->\n" + events +
			"<!-- end -->\nafter\n<!-- bench: live -->\n" + live + "<!-- end -->\n"
	}
	wakesNone, wakesAll, live := measuredRow("events", "wakes none", 100), measuredRow("events", "wakes all", 200), measuredRow("live", "wakes none", 100)
	const machine = "Measured on 1 January 0001: 0 CPUs (), , ; kube-scheduler ; medians of 0 runs.\n"
	for name, tt := range map[string]struct {
		old  string
		rows []Row
		want string // empty: it is refused
	}{
		"an empty page":                     {page("", "", ""), []Row{wakesNone, wakesAll}, page(machine, header+none+all, "")},
		"all rows":                          {page("old\n", header+all+none, header+none), []Row{wakesNone, wakesAll, live}, page(machine, header+none+all, header+none)},
		"a table without measured rows":     {page("old\n", header+none+all, header+none), []Row{wakesNone, wakesAll}, page("old\n", header+none+all, header+none)},
		"some rows":                         {page("old\n", header+none+all, ""), []Row{measuredRow("events", "wakes all", 150)}, page("old\n", header+none+faster, "")},
		"a row that is new":                 {page("old\n", header+none, ""), []Row{wakesAll}, page("old\n", header+none+all, "")},
		"some rows, with other columns":     {page("old\n", "| case | pods |\n| --- | --: |\n| wakes none | 10 |\n", ""), []Row{wakesAll}, ""},
		"all rows, with other columns":      {page("old\n", "| case | pods |\n| --- | --: |\n| wakes all | 10 |\n", ""), []Row{wakesAll}, page(machine, header+all, "")},
		"a place without an end is refused": {"<!-- bench: events -->\n", []Row{wakesAll}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "page.md")
			if err := os.WriteFile(file, []byte(tt.old), 0o644); err != nil {
				t.Fatal(err)
			}
			err := fillPage(file, &Report{Rows: tt.rows})
			got, readError := os.ReadFile(file)
			if readError != nil {
				t.Fatal(readError)
			}
			want := tt.want
			if want == "" {
				want = tt.old
			}
			if diff := cmp.Diff(want, string(got)); diff != "" || (err != nil) != (tt.want == "") {
				t.Errorf("error %v; the page is not as wanted (-want +got):\n%s", err, diff)
			}
		})
	}
}
