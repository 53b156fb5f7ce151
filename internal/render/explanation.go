// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/rouse-scheduler/rouse/inspect"
	"github.com/rouse-scheduler/rouse/simulate"
)

// Explanation writes the state of the pod in a sentence, and below it the details.
func Explanation(w io.Writer, e *inspect.Explanation, style Style) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", foldStyled(style.paint(bold, "Pod "+e.Namespace+"/"+e.Name)+" "+state(e, style), style.Width))
	if e.NominatedNode != "" && len(e.PendingPermitPlugins) == 0 {
		fmt.Fprintf(&b, "It is nominated for node %s, whose resources are reserved for it.\n", e.NominatedNode)
	}
	if e.TriedAgainAt != "" && e.Pool != simulate.PoolBackoff {
		fmt.Fprintf(&b, "Without an event it is tried again at %s.\n", e.TriedAgainAt)
	}
	if message := message(e); message != "" {
		fmt.Fprintf(&b, "%s\n", style.paragraph(message, ""))
	}
	drawRejections(&b, style, e)
	drawRequeueEvents(&b, style, e)
	drawRecentEvents(&b, style, e)
	drawNodes(&b, style, e)
	_, err := io.WriteString(w, b.String())
	return err
}

// foldStyled folds a text with colours, which take no columns.
func foldStyled(text string, width int) string {
	if width <= 0 {
		return text
	}
	var lines strings.Builder
	used := 0
	for i, word := range strings.Split(text, " ") {
		length := columns(ansi.ReplaceAllString(word, ""))
		switch {
		case i == 0:
		case used+1+length > width:
			lines.WriteByte('\n')
			used = 0
		default:
			lines.WriteByte(' ')
			used++
		}
		lines.WriteString(word)
		used += length
	}
	return lines.String()
}

// ansi matches what [Style] paints with.
var ansi = regexp.MustCompile(`\x1b\[[0-9]*m`)

// state says in which state the pod is, since when and after how many attempts.
func state(e *inspect.Explanation, style Style) string {
	since := ""
	if e.Since != "" {
		since = " since " + e.Since
	}
	now := "; it is " + e.At + " now."
	attempts := " after " + count(e.Attempts, "attempt")
	switch {
	case e.Attempts == 0 && e.Pool == simulate.PoolBound: // by another scheduler, or before the simulation began
		attempts = ""
	case e.Attempts == 0:
		attempts = " and was never tried"
	case e.Pool == simulate.PoolBound && e.WokenBy != "":
		attempts += ", the last one because of " + e.WokenBy
	}
	switch {
	case e.Phase != "":
		return "has finished (" + e.Phase + "), and no longer uses resources of node " + e.Node + now
	case e.MissedWakeup:
		return style.paint(red, "missed a wake-up: a node is feasible, but no event woke it") + ". It waits" + since + attempts + now
	case e.Pool == simulate.PoolBound && (e.Terminating || e.Preempted):
		return style.paint(yellow, "is on node "+e.Node+", and is being deleted") + purpose(e) + since + attempts + now
	}
	switch e.Pool {
	case simulate.PoolBound:
		return style.paint(green, "is on node "+e.Node) + since + attempts + now
	case simulate.PoolActive:
		if len(e.PendingPermitPlugins) > 0 {
			return style.paint(green, "has reserved node "+e.Node) + " and waits at Permit for " + strings.Join(e.PendingPermitPlugins, ", ") + since + attempts + now
		}
		return style.paint(green, "is in the active queue or being scheduled") + since + attempts + now
	case simulate.PoolBackoff:
		return style.paint(yellow, "is in backoff") + since + attempts + fmt.Sprintf(", until %s", e.TriedAgainAt) + now
	case simulate.PoolGated:
		return style.paint(yellow, "is rejected at PreEnqueue") + since + attempts + now
	case simulate.PoolDeleted:
		if e.Node != "" {
			return "was deleted; it was on node " + e.Node + now
		}
		return "was deleted; it never had a node" + now
	}
	if e.Since == "" { // the queue does not know it
		return style.paint(yellow, "is not in the queue") + now
	}
	return style.paint(yellow, "waits for an event") + since + attempts + now
}

// purpose says for which pods the pod is preempted.
func purpose(e *inspect.Explanation) string {
	switch {
	case len(e.PreemptedFor) > 0:
		return ", preempted by " + strings.Join(e.PreemptedFor, ", ")
	case e.Preempted:
		return ", preempted by a pod of higher priority"
	}
	return ""
}

// message returns the message where the lists below do not say as much.
func message(e *inspect.Explanation) string {
	if len(e.RejectedBy) > 0 || e.Pool == simulate.PoolBound {
		return ""
	}
	return e.Message
}

func drawRejections(b *strings.Builder, style Style, e *inspect.Explanation) {
	if len(e.RejectedBy) == 0 {
		return
	}
	title := "Rejected by"
	if e.RejectedAt != "" {
		title = fmt.Sprintf("Rejected at %s by", e.RejectedAt)
	}
	fmt.Fprintf(b, "\n%s\n\n", style.paint(bold, title))
	list := table{indent: "  ", header: []string{"PLUGIN", "NODES", "REASON"}, right: map[int]bool{1: true}}
	for _, rejection := range e.RejectedBy {
		name := rejection.Plugin
		if rejection.PreEnqueue {
			name += " (PreEnqueue)"
		}
		if len(rejection.Reasons) == 0 {
			list.cells(cell{name, cyan}, nodesCell(rejection, rejection.Nodes), cell{"-", dim})
		}
		for i, reason := range rejection.Reasons {
			if i > 0 {
				name = ""
			}
			list.cells(cell{name, cyan}, nodesCell(rejection, reason.Nodes), cell{text: reason.Reason})
		}
	}
	list.draw(b, style)
	switch {
	case e.PostFilter != "" && e.NominatedNode != "":
		fmt.Fprintf(b, "\n%s\n", style.paragraph(fmt.Sprintf("  Preemption on node %s: %s", e.NominatedNode, e.PostFilter), "    "))
	case e.PostFilter != "":
		fmt.Fprintf(b, "\n%s\n", style.paragraph("  Preemption cannot help: "+e.PostFilter, "    "))
	}
}

func nodesCell(rejection inspect.Rejection, nodes int) cell {
	if rejection.PreEnqueue {
		return cell{"-", dim}
	}
	return cell{text: decimal(nodes)}
}

func drawRequeueEvents(b *strings.Builder, style Style, e *inspect.Explanation) {
	if len(e.RequeueEvents) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s\n\n", style.paint(bold, "Events that would wake it"))
	list := table{indent: "  ", header: []string{"PLUGIN", "WAKES IT", "EVENTS"}}
	for _, plugin := range e.RequeueEvents {
		hinted, always := labels(&plugin, true), labels(&plugin, false)
		if len(hinted) > 0 {
			list.cells(cell{plugin.Plugin, cyan}, cell{"if its hint returns Queue", green}, cell{text: strings.Join(hinted, " ")})
		}
		if len(always) > 0 {
			list.cells(cell{plugin.Plugin, cyan}, cell{"always", yellow}, cell{text: strings.Join(always, " ")})
		}
		if len(plugin.Events) == 0 {
			list.cells(cell{plugin.Plugin, cyan}, cell{"never", red}, cell{"it registered no event", dim})
		}
	}
	list.draw(b, style)
}

func labels(w *inspect.PluginEvents, hint bool) []string {
	var labels []string
	for _, event := range w.Events {
		if event.Hint == hint {
			labels = append(labels, event.Event)
		}
	}
	return labels
}

func drawRecentEvents(b *strings.Builder, style Style, e *inspect.Explanation) {
	if len(e.RecentEvents) == 0 {
		if e.RecentEventsSince != "" {
			fmt.Fprintf(b, "\n%s\n", style.paragraph("No event that could wake it has occurred since "+e.RecentEventsSince+", when an explanation was first requested.", ""))
		}
		return
	}
	fmt.Fprintf(b, "\n%s\n\n", style.paint(bold, "Recent events"))
	list := table{indent: "  ", header: []string{"AT", "EVENT", "OBJECT", "PLUGIN", "ANSWER"}, right: map[int]bool{0: true}}
	for _, event := range e.RecentEvents {
		answer := cell{"skip", dim}
		switch event.Answer {
		case inspect.AnswerQueue:
			answer = cell{"wake it", green}
		case inspect.AnswerError:
			answer = cell{"wake it, because of an error: " + oneLine(event.Message), red}
		}
		list.cells(cell{text: event.At}, cell{event.Event, cyan}, cell{text: cmp.Or(event.Object, "-")},
			cell{text: cmp.Or(event.Plugin, "-")}, answer)
	}
	list.draw(b, style)
}

func drawNodes(b *strings.Builder, style Style, e *inspect.Explanation) {
	if e.ProbeError != "" {
		fmt.Fprintf(b, "\n%s\n", style.paragraph("The blockers are not known: "+oneLine(e.ProbeError), "  "))
	}
	if len(e.Everywhere) > 0 {
		fmt.Fprintf(b, "\n%s\n\n", style.paint(bold, "Blockers on every node"))
		drawBlockers(b, style, "  ", e.Everywhere)
	}
	if len(e.Nodes) == 0 {
		return
	}
	title := "The closest nodes"
	if len(e.Nodes) < e.AllNodes {
		title = fmt.Sprintf("The closest %d of %d nodes", len(e.Nodes), e.AllNodes)
	}
	fmt.Fprintf(b, "\n%s\n", style.paint(bold, title))
	for _, node := range e.Nodes {
		summary := count(node.BlockerCount, "blocker")
		switch {
		case node.BlockerCount == 0 && len(e.Everywhere) > 0:
			summary = "no other blockers"
		case node.BlockerCount == 0:
			summary = "feasible now"
		}
		fmt.Fprintf(b, "\n  %s  %s\n", style.paint(cyan, node.Name), style.paint(dim, summary))
		drawBlockers(b, style, "    ", node.Blockers)
	}
}

// drawBlockers writes what is known in detail, or else the reasons of the plugins.
func drawBlockers(b *strings.Builder, style Style, indent string, blockers []inspect.Blocker) {
	list := table{indent: indent}
	for _, blocker := range blockers {
		lines := blocker.Details
		if len(lines) == 0 {
			lines = []string{blocker.Reason}
		}
		name := blocker.Plugin
		for i, line := range slices.Clone(lines) {
			if i > 0 {
				name = ""
			}
			list.cells(cell{text: name}, cell{line, yellow})
		}
	}
	list.draw(b, style)
}
