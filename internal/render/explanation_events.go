// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/rouse-scheduler/rouse/inspect"
)

func drawRequeueEvents(b *strings.Builder, style Style, e *inspect.Explanation) {
	if len(e.RequeueEvents) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s\n\n", style.paint(bold, "What would wake it"))
	if !style.Verbose {
		drawEventWords(b, style, e)
		return
	}
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
		answer := cell{"it does not help", dim}
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

// drawEventWords says for each plugin what has to happen, without labels.
func drawEventWords(b *strings.Builder, style Style, e *inspect.Explanation) {
	list := table{indent: "  "}
	for _, plugin := range e.RequeueEvents {
		labels := make([]string, len(plugin.Events))
		for i, event := range plugin.Events {
			labels[i] = event.Event
		}
		words := cell{text: strings.Join(inspect.EventWords(labels...), "; ")}
		if len(labels) == 0 {
			words = cell{"nothing: it registered no event", red}
		}
		list.cells(cell{plugin.Plugin, cyan}, words)
	}
	list.draw(b, style)
}
