// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rouse-scheduler/rouse/simulate"
)

const (
	populationHeight = 150.0
	populationTop    = 10.0
	// populationSteps is how many places along the axis the chart has at most.
	populationSteps = 400
)

// populationChart draws how many pods were in which pool over time, one band on top of the other.
type populationChart struct {
	Width, Height float64
	Ticks         []tick
	// Left and Right are the ends of the axis, which is at AxisY with ticks down to TickY.
	Left, Right, AxisY, TickY float64

	Levels []level
	Bands  []band
}

// level is a mark of the vertical axis.
type level struct {
	X, Y float64
	Text string
}

// band is the pods of one pool.
type band struct {
	Pool   simulate.Pool
	Points string // of the polygon
	Title  string
}

// populationPools returns the pools that are drawn, from the bottom up.
func populationPools() []simulate.Pool {
	return []simulate.Pool{simulate.PoolBound, simulate.PoolActive, simulate.PoolBackoff, simulate.PoolUnschedulable, simulate.PoolGated}
}

// newPopulationChart counts the pods of the timelines; it is nil if no time passed.
func newPopulationChart(lines []*timeline, end simulate.Time) *populationChart {
	if end <= 0 || len(lines) == 0 {
		return nil
	}
	counts := populations(lines, end)
	highest := 1
	for step := range counts[simulate.PoolBound] {
		total := 0
		for _, pool := range populationPools() {
			total += counts[pool][step]
		}
		highest = max(highest, total)
	}
	scale := timeScale{end: end}
	bottom := populationTop + populationHeight
	y := func(n int) float64 { return bottom - populationHeight*float64(n)/float64(highest) }
	chart := &populationChart{
		Width: chartWidth, Height: bottom + axisHeight, Ticks: scale.ticks(),
		Left: gutter, Right: chartWidth - margin, AxisY: bottom, TickY: bottom + 4,
		Levels: []level{{gutter - 8, y(highest), decimal(highest)}, {gutter - 8, y(0), "0"}},
	}
	below := make([]int, populationSteps+1)
	for _, pool := range populationPools() {
		above := make([]int, len(below))
		for step, n := range counts[pool] {
			above[step] = below[step] + n
		}
		if most := slices.Max(counts[pool]); most > 0 {
			outline := stairs(above, scale, y)
			floor := stairs(below, scale, y)
			slices.Reverse(floor)
			chart.Bands = append(chart.Bands, band{
				Pool: pool, Points: strings.Join(append(outline, floor...), " "),
				Title: fmt.Sprintf("%s: at most %s at once", pool, count(most, "pod")),
			})
		}
		below = above
	}
	return chart
}

// stairs returns the corners of a line that changes from step to step.
func stairs(heights []int, scale timeScale, y func(int) float64) []string {
	var corners []string
	corner := func(step, height int) {
		x := scale.x(scale.end * simulate.Time(step) / populationSteps)
		corners = append(corners, fmt.Sprintf("%.1f,%.1f", x, y(height)))
	}
	corner(0, heights[0])
	for step := 1; step < len(heights); step++ {
		if heights[step] != heights[step-1] {
			corner(step, heights[step-1])
			corner(step, heights[step])
		}
	}
	corner(len(heights)-1, heights[len(heights)-1])
	return corners
}

// populations counts the pods of each pool at every step of the axis.
func populations(lines []*timeline, end simulate.Time) map[simulate.Pool][]int {
	counts := map[simulate.Pool][]int{}
	for _, pool := range populationPools() {
		counts[pool] = make([]int, populationSteps+1)
	}
	for _, line := range lines {
		for _, span := range line.spans {
			steps := counts[span.pool]
			if steps == nil {
				continue
			}
			first := stepOf(span.from, end)
			last := stepOf(span.to, end)
			if span.to == end {
				last = populationSteps + 1
			}
			for step := first; step < last; step++ {
				steps[step]++
			}
		}
	}
	return counts
}

// stepOf returns the first step that is not before a time.
func stepOf(at, end simulate.Time) int {
	return int((at*populationSteps + end - 1) / end)
}
