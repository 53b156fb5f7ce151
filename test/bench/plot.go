// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"html"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// figure is a picture of how cost grows with size: a panel for each case, all with the same axes, both logarithmic.
type figure struct {
	file     string
	title    string
	axis     string // what the horizontal axis counts
	workload string
	cases    []string
}

// figures are the pictures of docs/performance.md.
func figures() []figure {
	return []figure{
		{
			file: "decisions.svg", title: "Time of a decision", axis: "nodes", workload: "decisions",
			cases: []string{
				"basic, identical", "prefnode, identical", "basic, identical, no default spread",
				"basic, unique", "spread, identical", "antihost, identical", "prefpodzone, identical",
			},
		},
		{
			file: "events.svg", title: "Time of an event", axis: "unschedulable pods", workload: "events",
			cases: []string{
				"NodeResourcesFit, not registered", "NodeResourcesFit, wakes no pod", "NodeResourcesFit, wakes all",
				"NodeAffinity, not registered", "NodeAffinity, wakes no pod", "NodeAffinity, wakes all",
				"TaintToleration, not registered", "TaintToleration, wakes no pod", "TaintToleration, wakes all",
			},
		},
	}
}

// point is a size and the median of the wall time.
type point struct{ size, nanos float64 }

// panel is the lines of one case.
type panel struct {
	title string
	lines map[Contender][]point
}

const (
	panelsAcross              = 3
	panelWidth, panelHeight   = 300.0, 210.0
	leftMargin, bottomMargin  = 52.0, 34.0
	topMargin, rightMargin    = 26.0, 12.0
	headingHeight, lineHeight = 52.0, 14.0
)

// look is how a contender is drawn: a colour that prints well, and a label.
func look(who Contender) (colour, label string) {
	switch who {
	case Rouse:
		return "#0072b2", "Rouse, all nodes"
	case KubeScheduler:
		return "#d55e00", "kube-scheduler"
	default:
		return "#999999", "kube-scheduler, all nodes"
	}
}

// drawFigures writes the pictures of a report into a folder. Cases that were not measured are left out.
func drawFigures(dir string, report *Report) error {
	for _, f := range figures() {
		panels := f.panels(report.Rows)
		if len(panels) == 0 {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, f.file), []byte(f.svg(panels)), 0o644); err != nil {
			return fmt.Errorf("writing a figure: %w", err)
		}
	}
	return nil
}

func (f *figure) panels(rows []Row) []panel {
	var panels []panel
	for _, name := range f.cases {
		p := panel{title: name, lines: map[Contender][]point{}}
		for i := range rows {
			row := &rows[i]
			if row.Workload != f.workload || row.Case != name {
				continue
			}
			for who, result := range row.Results {
				p.lines[who] = append(p.lines[who], point{float64(row.Size), result.Median[WallNanos]})
			}
		}
		for _, line := range p.lines {
			slices.SortFunc(line, func(a, b point) int { return cmp.Compare(a.size, b.size) })
		}
		if len(p.lines) > 0 {
			panels = append(panels, p)
		}
	}
	return panels
}

// scale maps a range of values, logarithmically, to a range of pixels.
type scale struct{ low, high, from, to float64 }

func (s scale) at(value float64) float64 {
	return s.from + (math.Log10(value)-math.Log10(s.low))/(math.Log10(s.high)-math.Log10(s.low))*(s.to-s.from)
}

// ticks are the powers of ten in the range.
func (s scale) ticks() []float64 {
	var ticks []float64
	for exponent := math.Ceil(math.Log10(s.low) - 1e-9); exponent <= math.Log10(s.high)+1e-9; exponent++ {
		ticks = append(ticks, math.Pow(10, exponent))
	}
	return ticks
}

func (f *figure) svg(panels []panel) string {
	across := min(panelsAcross, len(panels))
	down := (len(panels) + panelsAcross - 1) / panelsAcross
	width, height := float64(across)*panelWidth, headingHeight+float64(down)*panelHeight
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" font-family="sans-serif" font-size="11" role="img">`+"\n", width, height)
	fmt.Fprintf(&b, "<title>%s</title>\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n", html.EscapeString(f.title))
	text(&b, 12, 20, "start", 15, f.title)
	x := 12.0
	for _, who := range []Contender{Rouse, KubeScheduler, KubeSchedulerAllNodes} {
		if slices.ContainsFunc(panels, func(p panel) bool { return len(p.lines[who]) > 0 }) {
			colour, label := look(who)
			fmt.Fprintf(&b, `<line x1="%g" y1="38" x2="%g" y2="38" stroke="%s" stroke-width="2.5"/>`+"\n", x, x+22, colour)
			text(&b, x+28, 42, "start", 12, label)
			x += 60 + 7*float64(len(label))
		}
	}
	horizontal, vertical := f.scales(panels)
	for i, p := range panels {
		fmt.Fprintf(&b, `<g transform="translate(%g,%g)">`+"\n", float64(i%panelsAcross)*panelWidth, headingHeight+float64(i/panelsAcross)*panelHeight)
		p.draw(&b, horizontal, vertical, f.axis)
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// scales returns the axes that all panels have in common.
func (f *figure) scales(panels []panel) (horizontal, vertical scale) {
	lowX, highX, lowY, highY := math.Inf(1), 0.0, math.Inf(1), 0.0
	for _, p := range panels {
		for _, line := range p.lines {
			for _, at := range line {
				lowX, highX = min(lowX, at.size), max(highX, at.size)
				lowY, highY = min(lowY, at.nanos), max(highY, at.nanos)
			}
		}
	}
	if lowX == highX {
		lowX, highX = lowX/2, highX*2
	}
	horizontal = scale{lowX, highX, leftMargin, panelWidth - rightMargin}
	if lowY == highY {
		lowY, highY = lowY/2, highY*2
	}
	vertical = scale{
		math.Pow(10, math.Floor(math.Log10(lowY))), math.Pow(10, math.Ceil(math.Log10(highY)-1e-9)),
		panelHeight - bottomMargin, topMargin,
	}
	return horizontal, vertical
}

func (p *panel) draw(b *strings.Builder, horizontal, vertical scale, axis string) {
	text(b, leftMargin, topMargin-9, "start", 11, p.title)
	for _, tick := range vertical.ticks() {
		y := vertical.at(tick)
		fmt.Fprintf(b, `<line x1="%g" y1="%.1f" x2="%g" y2="%.1f" stroke="#e4e4e4"/>`+"\n", horizontal.from, y, horizontal.to, y)
		text(b, leftMargin-5, y+4, "end", 10, strings.Replace(duration(tick), ".00", "", 1))
	}
	sizes := map[float64]bool{}
	for _, line := range p.lines {
		for _, at := range line {
			sizes[at.size] = true
		}
	}
	for _, size := range slices.Sorted(maps.Keys(sizes)) {
		x := horizontal.at(size)
		fmt.Fprintf(b, `<line x1="%.1f" y1="%g" x2="%.1f" y2="%g" stroke="#f0f0f0"/>`+"\n", x, vertical.from, x, vertical.to)
		text(b, x, vertical.from+lineHeight, "middle", 10, fmt.Sprintf("%gk", size/1000))
	}
	text(b, (horizontal.from+horizontal.to)/2, vertical.from+2*lineHeight-2, "middle", 10, axis)
	for _, who := range contendersInOrder() {
		colour, _ := look(who)
		var path []string
		for _, at := range p.lines[who] {
			x, y := horizontal.at(at.size), vertical.at(at.nanos)
			path = append(path, fmt.Sprintf("%.1f,%.1f", x, y))
			fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="2.6" fill="%s"/>`+"\n", x, y, colour)
		}
		if len(path) > 1 {
			fmt.Fprintf(b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n", strings.Join(path, " "), colour)
		}
	}
}

func text(b *strings.Builder, x, y float64, anchor string, size int, content string) {
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="%s" font-size="%d" fill="#222">%s</text>`+"\n", x, y, anchor, size, html.EscapeString(content))
}
