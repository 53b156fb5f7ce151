// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/rouse-scheduler/rouse/simulate"
)

// Report writes the trace, if the report has one, and the summary.
func Report(w io.Writer, r *simulate.Report, style Style) error {
	for _, entry := range r.Trace {
		if _, err := fmt.Fprintln(w, TraceLine(entry, style)); err != nil {
			return err
		}
	}
	if len(r.Trace) > 0 {
		fmt.Fprintln(w)
	}
	return reportSummary(w, r, style)
}

// reportSummary writes the figures, and the pods that are not on a node.
func reportSummary(w io.Writer, r *simulate.Report, style Style) error {
	var b strings.Builder
	s := r.Summary
	fmt.Fprintf(&b, "%s on %s, %s of virtual time, simulated in %s\n\n", count(s.Pods, "pod"), count(s.Nodes, "node"),
		seconds(s.VirtualSeconds), seconds(s.WallSeconds))
	figures := table{indent: "  ", right: map[int]bool{1: true}}
	for _, figure := range summaryFigures(s) {
		figures.cells(cell{text: figure.name}, cell{figure.text, bold}, cell{figure.meaning, dim})
	}
	figures.draw(&b, style)
	drawWaiting(&b, style, r.Pods)
	_, err := io.WriteString(w, b.String())
	return err
}

// maxWaiting is how many pods the text lists.
const maxWaiting = 100

func drawWaiting(b *strings.Builder, style Style, pods []simulate.PodState) {
	list := table{indent: "  ", header: []string{"POD", "POOL", "ATTEMPTS", "REJECTED BY", "MESSAGE"}, right: map[int]bool{2: true}}
	more := 0
	for _, pod := range pods {
		if pod.Pool == simulate.PoolBound || pod.Pool == simulate.PoolDeleted {
			continue
		}
		if len(list.rows) == maxWaiting {
			more++
			continue
		}
		list.cells(cell{text: pod.Namespace + "/" + pod.Name}, cell{string(pod.Pool), yellow}, cell{text: decimal(pod.Attempts)},
			cell{text: strings.Join(pod.RejectedBy, ",")}, cell{text: oneLine(pod.Message)})
	}
	if len(list.rows) > 0 {
		b.WriteString("\nNot on a node at the end:\n\n")
	}
	list.draw(b, style)
	if more > 0 {
		fmt.Fprintf(b, "  and %d more\n", more)
	}
}

// figure is a number of the summary.
type figure struct {
	name, text, meaning string
}

func summaryFigures(s simulate.Summary) []figure {
	return []figure{
		{"bound", decimal(s.Bound), "pods on a node at the end"},
		{"unschedulable", decimal(s.Unschedulable), "pods that wait for an event at the end"},
		{"gated", decimal(s.Gated), "pods that a PreEnqueue plugin rejects"},
		{"preempted", decimal(s.Preempted), "pods that were preempted"},
		{"attempts", decimal(s.Attempts), "scheduling cycles"},
		{"wasted", decimal(s.Wasted), "cycles of pods that were rejected again"},
		{"wake-ups", decimal(s.Wakeups), "times that an event woke a waiting pod"},
		{"events", decimal(int(s.Events)), "cluster events that some plugin registered"},
	}
}

// seconds writes a duration with as many decimals as matter.
func seconds(s float64) string {
	switch {
	case s == 0:
		return "0s"
	case s < 1:
		return fmt.Sprintf("%.3gms", s*1000)
	case s < 10:
		return fmt.Sprintf("%.2gs", s)
	default:
		return shortDuration(time.Duration(s * float64(time.Second)).Round(time.Second))
	}
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
