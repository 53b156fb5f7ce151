// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/rouse-scheduler/rouse/simulate"
)

// Measures of the charts, in units of their view boxes.
const (
	chartWidth  = 1000.0
	gutter      = 190.0 // left of the time axis, for names
	margin      = 20.0  // right of it
	rowHeight   = 18.0
	barHeight   = 11.0
	laneHeight  = 15.0
	labelWidth  = 6.8 // of a letter, at most
	smallest    = 1.0 // distance of two marks that are not drawn as one
	maxLanes    = 5
	axisHeight  = 22.0
	longestName = 26 // letters that fit into the gutter
)

// timeScale places times on the axis.
type timeScale struct{ end simulate.Time }

func (s timeScale) x(at simulate.Time) float64 {
	if s.end <= 0 {
		return gutter
	}
	return rounded(gutter + (chartWidth-gutter-margin)*float64(at)/float64(s.end))
}

// rounded keeps coordinates short.
func rounded(x float64) float64 { return math.Round(x*10) / 10 }

// tick is a mark of the time axis.
type tick struct {
	X    float64
	Text string
}

// ticks returns about eight round times.
func (s timeScale) ticks() []tick {
	steps := []time.Duration{
		time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond,
		50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond,
		time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second,
		time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
		time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour,
	}
	end := time.Duration(s.end)
	step := steps[len(steps)-1]
	for end/step > 10 {
		step *= 2
	}
	for _, candidate := range steps {
		if end/candidate <= 10 {
			step = candidate
			break
		}
	}
	var ticks []tick
	for at := time.Duration(0); at <= end; at += step {
		ticks = append(ticks, tick{X: s.x(simulate.Time(at)), Text: shortDuration(at)})
	}
	return ticks
}

// shortDuration leaves out the zeros that time.Duration writes, as in 5m0s.
func shortDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// timelineChart draws a row for each pod.
type timelineChart struct {
	Width, Height float64
	Note          string
	Ticks         []tick
	// AxisY is where the times stand; grid lines go from Top to Bottom.
	AxisY, Top, Bottom float64
	Events             []eventMark
	Rows               []timelineRow
}

// eventMark is an event that woke pods, above the rows.
type eventMark struct {
	X, LineY, LabelX, LabelY float64
	Label                    string // empty if there is no room
	Title                    string
}

type timelineRow struct {
	Y, TextX, TextY float64
	Name, Full      string
	Bars            []timelineBar
	Marks           []wakeupMark
}

type timelineBar struct {
	X, Y, Width, Height float64
	Pool                simulate.Pool
	Title               string
}

// wakeupMark is a triangle where a pod was woken.
type wakeupMark struct{ Points, Title string }

func newTimelineChart(all []*timeline, end simulate.Time) *timelineChart {
	lines := longestWaiting(all, maxTimelines)
	scale := timeScale{end: end}
	marks, lanes := eventMarks(lines, scale)
	top := float64(lanes)*laneHeight + axisHeight
	chart := &timelineChart{
		Width: chartWidth, Height: top + float64(len(lines))*rowHeight + 8,
		Ticks: scale.ticks(), AxisY: axisHeight - 8, Top: top - 2, Bottom: top + float64(len(lines))*rowHeight,
		Events: marks,
	}
	if len(lines) < len(all) {
		chart.Note = fmt.Sprintf("%d of %d pods, those that waited longest.", len(lines), len(all))
	}
	for i, line := range lines {
		chart.Rows = append(chart.Rows, newTimelineRow(line, top+float64(i)*rowHeight, scale))
	}
	return chart
}

func newTimelineRow(line *timeline, y float64, scale timeScale) timelineRow {
	row := timelineRow{Y: y, TextX: gutter - 8, TextY: y + barHeight + 1, Name: shortened(line.pod, longestName), Full: line.pod}
	barY := y + (rowHeight-barHeight)/2
	for _, span := range line.spans {
		from, to := scale.x(span.from), scale.x(span.to)
		if to-from < smallest/4 && span.pool != simulate.PoolBound {
			continue // thousands of them would only slow the browser down
		}
		row.Bars = append(row.Bars, timelineBar{
			X: from, Y: barY, Width: rounded(max(to-from, 1.5)), Height: barHeight, Pool: span.pool, Title: spanTitle(line.pod, span),
		})
	}
	last := 0.0
	for _, wakeup := range line.wakeups {
		x := scale.x(wakeup.At)
		if x-last < smallest {
			continue
		}
		last = x
		row.Marks = append(row.Marks, wakeupMark{
			Points: fmt.Sprintf("%.1f,%.1f %.1f,%.1f %.1f,%.1f", x-4, barY-3, x+4, barY-3, x, barY+4),
			Title:  fmt.Sprintf("%s: %s woken %s", wakeup.At, line.pod, cause(wakeup)),
		})
	}
	return row
}

func spanTitle(pod string, span span) string {
	title := fmt.Sprintf("%s: %s from %s to %s", pod, span.pool, span.from, span.to)
	switch {
	case span.why.Node != "":
		title += ", on " + span.why.Node
	case span.why.What == simulate.WhatRejected && span.why.Plugin != "":
		title += ", rejected by " + span.why.Plugin
	}
	if span.why.Message != "" {
		title += ": " + span.why.Message
	}
	return title
}

// cause says in words what woke a pod.
func cause(wakeup simulate.TraceEntry) string {
	if wakeup.Plugin == "" {
		return "by " + wakeup.Event
	}
	return "by " + wakeup.Event + " for " + wakeup.Plugin
}

// shortened cuts the middle out of a text that is too long.
func shortened(text string, length int) string {
	letters := []rune(text)
	if len(letters) <= length {
		return text
	}
	end := length / 2
	return string(letters[:length-end-1]) + "…" + string(letters[len(letters)-end:])
}

// eventMarks returns a mark for each event that woke pods of the timelines, and how many lanes their labels take.
// Labels go to the first lane where they don't touch another one.
func eventMarks(lines []*timeline, scale timeScale) (marks []eventMark, lanes int) {
	type moment struct {
		at    simulate.Time
		event string
	}
	woken := map[moment]int{}
	var moments []moment
	for _, line := range lines {
		for _, wakeup := range line.wakeups {
			key := moment{wakeup.At, wakeup.Event}
			if woken[key]++; woken[key] == 1 {
				moments = append(moments, key)
			}
		}
	}
	slices.SortStableFunc(moments, func(a, b moment) int { return int(max(min(a.at-b.at, 1), -1)) })
	var laneEnds []float64
	last := 0.0
	for _, moment := range moments {
		mark := eventMark{X: scale.x(moment.at), Title: fmt.Sprintf("%s: %s woke %s", moment.at, moment.event, count(woken[moment], "pod"))}
		width := float64(len(moment.event))*labelWidth + 8
		start := rounded(min(mark.X+3, chartWidth-width))
		lane := slices.IndexFunc(laneEnds, func(end float64) bool { return start >= end })
		if lane < 0 && len(laneEnds) < maxLanes {
			lane = len(laneEnds)
			laneEnds = append(laneEnds, 0)
		}
		if lane >= 0 {
			laneEnds[lane] = start + width
			mark.Label, mark.LabelX = moment.event, start
			mark.LabelY = axisHeight + float64(lane+1)*laneHeight - 4
			mark.LineY = axisHeight + float64(lane)*laneHeight
		} else if mark.X-last < smallest {
			continue
		}
		last = mark.X
		marks = append(marks, mark)
	}
	for i := range marks {
		if marks[i].Label == "" {
			marks[i].LineY = axisHeight + float64(len(laneEnds))*laneHeight
		}
	}
	return marks, len(laneEnds)
}
