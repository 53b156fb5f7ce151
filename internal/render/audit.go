// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"io"
	"strings"

	"github.com/rouse-scheduler/rouse/inspect"
)

// Audit writes the figures, a table of the decisions and what was missed.
func Audit(w io.Writer, a *inspect.Audit, style Style) error {
	var b strings.Builder
	s := a.Summary
	fmt.Fprintf(&b, "%s on %s, %s of virtual time, audited in %s\n\n", count(s.Pods, "pod"), count(s.Nodes, "node"),
		seconds(s.VirtualSeconds), seconds(s.WallSeconds))
	missedColor := green
	if s.MissedWakeups > 0 {
		missedColor = red
	}
	figures := table{indent: "  ", right: map[int]bool{1: true}}
	figures.cells(cell{text: "right wake-ups"}, cell{decimal(s.RightWakeups), bold}, cell{"pods that then fitted, or that the plugin rejected on fewer nodes", dim})
	figures.cells(cell{text: "wasted wake-ups"}, cell{decimal(s.WastedWakeups), bold}, cell{"pods that the plugin still rejected on the same nodes", dim})
	figures.cells(cell{text: "right skips"}, cell{decimal(s.RightSkips), bold}, cell{"pods that were not woken and would not have fitted", dim})
	figures.cells(cell{text: "missed wake-ups"}, cell{decimal(s.MissedWakeups), missedColor}, cell{"pods that were not woken and would have fitted", dim})
	failedColor := green
	if s.Failed > 0 {
		failedColor = red
	}
	figures.cells(cell{text: "failed"}, cell{decimal(s.Failed), failedColor}, cell{"errors and panics of plugins", dim})
	figures.draw(&b, style)
	drawDecisions(&b, style, a.Decisions)
	drawMissed(&b, style, a.Missed)
	drawFailures(&b, style, a.Failures)
	for _, warning := range a.Warnings {
		fmt.Fprintf(&b, "\n%s\n", style.paint(yellow, style.paragraph("Warning: "+warning, "  ")))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func drawDecisions(b *strings.Builder, style Style, decisions []inspect.Decisions) {
	if len(decisions) == 0 {
		b.WriteString("\nNo event occurred for which the hint of a plugin was called about a waiting pod.\n")
		return
	}
	b.WriteByte('\n')
	list := table{
		indent: "  ", header: []string{"EVENT", "PLUGIN", "RIGHT", "WASTED", "SKIPPED", "MISSED", "FAILED"},
		right: map[int]bool{2: true, 3: true, 4: true, 5: true, 6: true},
	}
	for _, row := range decisions {
		event := row.Event
		if event == "" {
			event = "(no event)"
		}
		list.cells(cell{event, cyan}, cell{text: row.Plugin}, numberCell(row.RightWakeups, green), numberCell(row.WastedWakeups, yellow),
			numberCell(row.RightSkips, plain), numberCell(row.MissedWakeups, red), numberCell(row.Failed, red))
	}
	list.draw(b, style)
}

// numberCell dims zeros, so that the others stand out.
func numberCell(n int, c color) cell {
	if n == 0 {
		return cell{"0", dim}
	}
	return cell{decimal(n), c}
}

func drawMissed(b *strings.Builder, style Style, all []inspect.MissedWakeup) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s\n", style.paint(bold, "Missed wake-ups"))
	for i := range all {
		missed := &all[i]
		fmt.Fprintf(b, "\n  %s\n", style.paint(red, style.paragraph(missedLine(missed), "      ")))
		for _, by := range missed.MissedBy {
			fmt.Fprintf(b, "    %s\n", missedByLine(&by, missed))
		}
		fmt.Fprintf(b, "    %s\n", style.paint(dim, untilLine(missed)))
	}
}

func drawFailures(b *strings.Builder, style Style, failures []inspect.PluginFailure) {
	if len(failures) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s\n\n", style.paint(bold, "Failures of plugins"))
	for i := range failures {
		fmt.Fprintf(b, "  %s\n", style.paint(red, style.paragraph(failureLine(&failures[i]), "      ")))
	}
}

// failureLine says in a line what failed.
func failureLine(f *inspect.PluginFailure) string {
	text := fmt.Sprintf("%v ", f.At)
	if f.Plugin != "" {
		text += " plugin " + f.Plugin
	}
	if f.Pod != "" {
		text += " for pod " + f.Pod
	}
	if f.Event != "" {
		text += " at " + f.Event
	}
	text += ": " + f.Message
	if f.Times > 1 {
		text += fmt.Sprintf(" (%d times; this was the first)", f.Times)
	}
	return text
}

// missedLine says in a line what was missed.
func missedLine(m *inspect.MissedWakeup) string {
	cause := m.Event
	switch {
	case cause == "":
		cause = m.Change
	case m.Change != "":
		cause += " (" + m.Change + ")"
	}
	where := m.Node
	if len(m.Victims) > 0 {
		where += " after preemption of " + strings.Join(m.Victims, ", ")
	}
	return fmt.Sprintf("%v  pod %s fits node %s since %s, but was not woken", m.At, m.Pod, where, cause)
}

// untilLine says until when the pod waited.
func untilLine(m *inspect.MissedWakeup) string {
	if m.Until == "" {
		return "It waited to the end."
	}
	return fmt.Sprintf("It waited until %s, when %s woke it.", m.Until, m.WokenBy)
}

// missedByLine says why a plugin missed the wake-up.
func missedByLine(b *inspect.MissedBy, missed *inspect.MissedWakeup) string {
	text := fmt.Sprintf("plugin %s, which rejected the pod, ", b.Plugin)
	event := b.Event
	if event == "" {
		event = "the change"
	}
	switch b.Reason {
	case inspect.MissReasonSkipped:
		text += fmt.Sprintf("registered %s, but its hint returned QueueSkip", event)
	case inspect.MissReasonNotRegistered:
		text += fmt.Sprintf("did not register %s", event)
	case inspect.MissReasonNotAnnounced:
		text += fmt.Sprintf("received no event: the scheduler does not announce %s", event)
	case inspect.MissReasonNotAsked:
		text += fmt.Sprintf("registered %s, but its hint was not called for this pod", event)
	case inspect.MissReasonHeldBack:
		text += fmt.Sprintf("returned Queue for %s, but only other pods were to be woken", event)
	}
	if b.At != missed.At {
		text += fmt.Sprintf(", at %v", b.At)
	}
	return text
}
