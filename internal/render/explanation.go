// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rouse-scheduler/rouse/inspect"
	"github.com/rouse-scheduler/rouse/simulate"
)

// Explanation writes the state of the pod in a sentence, and below it what there is to say.
func Explanation(w io.Writer, e *inspect.Explanation, style Style) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", style.paint(bold, "Pod "+e.Namespace+"/"+e.Name), state(e, style))
	if e.NominatedNode != "" && len(e.Permission) == 0 {
		fmt.Fprintf(&b, "It is nominated for node %s, where room is kept for it.\n", e.NominatedNode)
	}
	if e.TriedAgainAt != "" && e.Pool != simulate.PoolBackoff {
		fmt.Fprintf(&b, "Even if nothing happens it is tried again at %s.\n", e.TriedAgainAt)
	}
	if message := message(e); message != "" {
		fmt.Fprintf(&b, "%s\n", message)
	}
	drawRejections(&b, style, e)
	drawWakes(&b, style, e)
	drawHeard(&b, style, e)
	drawNodes(&b, style, e)
	_, err := io.WriteString(w, b.String())
	return err
}

// state says where the pod is, since when and after how much.
func state(e *inspect.Explanation, style Style) string {
	since := ""
	if e.Since != "" {
		since = " since " + e.Since
	}
	now := "; it is " + e.At + " now."
	attempts := " after " + count(e.Attempts, "attempt")
	switch {
	case e.Attempts == 0 && e.Pool == simulate.PoolBound: // by somebody else, or before anybody looked
		attempts = ""
	case e.Attempts == 0:
		attempts = " and was never tried"
	case e.Pool == simulate.PoolBound && e.WokenBy != "":
		attempts += ", the last one because of " + e.WokenBy
	}
	switch {
	case e.Phase != "":
		return "has finished (" + e.Phase + "), and takes nothing from node " + e.Node + " any more" + now
	case e.MissedWakeup:
		return style.paint(red, "missed a wake-up: a node would take it, and no event woke it") + ". It waits" + since + attempts + now
	case e.Pool == simulate.PoolBound && (e.Terminating || e.Preempted):
		return style.paint(yellow, "is on node "+e.Node+", and is being deleted") + purpose(e) + since + attempts + now
	}
	switch e.Pool {
	case simulate.PoolBound:
		return style.paint(green, "is on node "+e.Node) + since + attempts + now
	case simulate.PoolActive:
		if len(e.Permission) > 0 {
			return style.paint(green, "is to go to node "+e.Node) + " and waits for permission of " + strings.Join(e.Permission, ", ") + since + attempts + now
		}
		return style.paint(green, "is being tried, or about to be") + since + attempts + now
	case simulate.PoolBackoff:
		return style.paint(yellow, "backs off") + since + attempts + fmt.Sprintf(", until %s", e.TriedAgainAt) + now
	case simulate.PoolGated:
		return style.paint(yellow, "is gated") + since + attempts + now
	case simulate.PoolDeleted:
		if e.Node != "" {
			return "is gone, and was on node " + e.Node + now
		}
		return "is gone, and never had a node" + now
	}
	if e.Since == "" { // the queue does not know it
		return style.paint(yellow, "waits for nothing") + now
	}
	return style.paint(yellow, "waits for an event") + since + attempts + now
}

// purpose says for whom the pod has to go.
func purpose(e *inspect.Explanation) string {
	switch {
	case len(e.PreemptedFor) > 0:
		return " to make room for " + strings.Join(e.PreemptedFor, ", ")
	case e.Preempted:
		return " to make room for a pod of higher priority"
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
		if rejection.Gate {
			name += " (gate)"
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
		fmt.Fprintf(b, "\n  Room is made on node %s: %s\n", e.NominatedNode, e.PostFilter)
	case e.PostFilter != "":
		fmt.Fprintf(b, "\n  Nor could room be made: %s\n", e.PostFilter)
	}
}

func nodesCell(rejection inspect.Rejection, nodes int) cell {
	if rejection.Gate {
		return cell{"-", dim}
	}
	return cell{text: decimal(nodes)}
}

func drawWakes(b *strings.Builder, style Style, e *inspect.Explanation) {
	if len(e.Wakes) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s\n\n", style.paint(bold, "What would wake it"))
	list := table{indent: "  ", header: []string{"PLUGIN", "WAKES IT", "EVENTS"}}
	for _, wake := range e.Wakes {
		hinted, always := labels(&wake, true), labels(&wake, false)
		if len(hinted) > 0 {
			list.cells(cell{wake.Plugin, cyan}, cell{"if its hint says so", green}, cell{text: strings.Join(hinted, " ")})
		}
		if len(always) > 0 {
			list.cells(cell{wake.Plugin, cyan}, cell{"always", yellow}, cell{text: strings.Join(always, " ")})
		}
		if len(wake.Events) == 0 {
			list.cells(cell{wake.Plugin, cyan}, cell{"never", red}, cell{"it waits for no event", dim})
		}
	}
	list.draw(b, style)
}

func labels(w *inspect.Wake, hint bool) []string {
	var labels []string
	for _, event := range w.Events {
		if event.Hint == hint {
			labels = append(labels, event.Event)
		}
	}
	return labels
}

func drawHeard(b *strings.Builder, style Style, e *inspect.Explanation) {
	if len(e.Heard) == 0 {
		if e.HeardSince != "" {
			fmt.Fprintf(b, "\nNothing that could wake it has happened since %s, when somebody first asked about it.\n", e.HeardSince)
		}
		return
	}
	fmt.Fprintf(b, "\n%s\n\n", style.paint(bold, "What happened last"))
	list := table{indent: "  ", header: []string{"AT", "EVENT", "OBJECT", "PLUGIN", "SAID"}, right: map[int]bool{0: true}}
	for _, heard := range e.Heard {
		said := cell{"leave it asleep", dim}
		switch heard.Answer {
		case inspect.AnswerQueue:
			said = cell{"wake it", green}
		case inspect.AnswerError:
			said = cell{"wake it, because of an error: " + oneLine(heard.Message), red}
		}
		list.cells(cell{text: heard.At}, cell{heard.Event, cyan}, cell{text: cmp.Or(heard.Object, "-")},
			cell{text: cmp.Or(heard.Plugin, "-")}, said)
	}
	list.draw(b, style)
}

func drawNodes(b *strings.Builder, style Style, e *inspect.Explanation) {
	if e.NotAsked != "" {
		fmt.Fprintf(b, "\nWhat is in the way is not known: %s\n", oneLine(e.NotAsked))
	}
	if len(e.Everywhere) > 0 {
		fmt.Fprintf(b, "\n%s\n\n", style.paint(bold, "In the way on every node"))
		drawObstacles(b, style, "  ", e.Everywhere)
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
		things := count(node.Things, "thing") + " in the way"
		switch {
		case node.Things == 0 && len(e.Everywhere) > 0:
			things = "nothing else in the way"
		case node.Things == 0:
			things = "would take it now"
		}
		fmt.Fprintf(b, "\n  %s  %s\n", style.paint(cyan, node.Name), style.paint(dim, things))
		drawObstacles(b, style, "    ", node.Obstacles)
	}
}

// drawObstacles writes what is known in detail, or else the reasons of the plugins.
func drawObstacles(b *strings.Builder, style Style, indent string, obstacles []inspect.Obstacle) {
	list := table{indent: indent}
	for _, obstacle := range obstacles {
		lines := obstacle.Details
		if len(lines) == 0 {
			lines = []string{obstacle.Reason}
		}
		name := obstacle.Plugin
		for i, line := range slices.Clone(lines) {
			if i > 0 {
				name = ""
			}
			list.cells(cell{text: name}, cell{line, yellow})
		}
	}
	list.draw(b, style)
}
