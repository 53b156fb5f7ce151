// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	_ "embed" // for the template
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/rouse-scheduler/rouse/inspect"
	"github.com/rouse-scheduler/rouse/simulate"
)

//go:embed report.html.tmpl
var reportTemplate string

// Limits of the page, so that a browser can still show what a large simulation leaves behind.
const (
	maxTimelines = 120
	maxPodRows   = 2000
)

// ReportHTML writes a report as one page that needs nothing else: no network, no scripts. The timeline and the
// wake-ups come from the trace; without one they are left out.
func ReportHTML(w io.Writer, report *simulate.Report) error {
	parsed, err := template.New("report").Parse(reportTemplate)
	if err != nil {
		return fmt.Errorf("reading the template of the page: %w", err)
	}
	var page bytes.Buffer
	if err := parsed.Execute(&page, newReportPage(report)); err != nil {
		return fmt.Errorf("writing the report as HTML: %w", err)
	}
	_, err = w.Write(page.Bytes())
	return err
}

// reportPage is what the template shows.
type reportPage struct {
	Profiles   string
	Lead       string
	Figures    []figureCard
	Failures   []simulate.ExpectationFailure
	Warnings   []string
	Population *populationChart
	Timeline   *timelineChart
	Wakeups    []wakeupRow
	Pods       []simulate.PodState
	PodsNote   string
}

// figureCard is a figure with what it stands for.
type figureCard struct{ Name, Text, Meaning string }

// wakeupRow is a row of the table of wake-ups; the bars are percentages of the longest.
type wakeupRow struct {
	inspect.Wakeups
	BoundBar, WastedBar, OtherBar float64
}

func newReportPage(report *simulate.Report) *reportPage {
	s := report.Summary
	page := &reportPage{
		Profiles: strings.Join(report.Profiles, ", "),
		Lead: fmt.Sprintf("%s on %s, %s of virtual time, simulated in %s", count(s.Pods, "pod"), count(s.Nodes, "node"),
			seconds(s.VirtualSeconds), seconds(s.WallSeconds)),
		Failures: report.Failures,
		Warnings: report.Warnings,
		Wakeups:  wakeupRows(inspect.CountWakeups(report.Trace)),
	}
	for _, figure := range summaryFigures(s) {
		page.Figures = append(page.Figures, figureCard{figure.name, figure.text, figure.meaning})
	}
	page.Pods, page.PodsNote = podRows(report.Pods)
	if len(report.Trace) == 0 {
		return page
	}
	end := simulate.Time(s.VirtualSeconds * float64(time.Second))
	end = max(end, report.Trace[len(report.Trace)-1].At)
	lines := timelines(report.Trace, end)
	page.Population = newPopulationChart(lines, end)
	page.Timeline = newTimelineChart(lines, end)
	return page
}

func wakeupRows(all []inspect.Wakeups) []wakeupRow {
	longest := 1
	for _, wakeups := range all {
		longest = max(longest, wakeups.Woken)
	}
	percent := func(n int) float64 { return rounded(100 * float64(n) / float64(longest)) }
	rows := make([]wakeupRow, 0, len(all))
	for _, wakeups := range all {
		other := wakeups.Woken - wakeups.Bound - wakeups.Wasted
		rows = append(rows, wakeupRow{wakeups, percent(wakeups.Bound), percent(wakeups.Wasted), percent(other)})
	}
	return rows
}

// podRows returns the pods that the page has room for, those that are on no node first.
func podRows(pods []simulate.PodState) (rows []simulate.PodState, note string) {
	rows = slices.Clone(pods)
	settled := func(pod simulate.PodState) int {
		if pod.Pool == simulate.PoolBound || pod.Pool == simulate.PoolDeleted {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(rows, func(a, b simulate.PodState) int { return settled(a) - settled(b) })
	if len(rows) > maxPodRows {
		note = fmt.Sprintf("The first %d of %d pods, beginning with those that are on no node.", maxPodRows, len(rows))
		rows = rows[:maxPodRows]
	}
	return rows, note
}
