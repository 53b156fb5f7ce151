// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"strings"

	"github.com/rouse-scheduler/rouse/inspect"
)

// drawSuggestions lists what would let the pod be scheduled.
func drawSuggestions(b *strings.Builder, style Style, e *inspect.Explanation) {
	if e.SuggestionsError != "" {
		fmt.Fprintf(b, "\n%s\n", style.paragraph("What would let it be scheduled is not known: "+oneLine(e.SuggestionsError), "  "))
	}
	if len(e.Suggestions) == 0 {
		return
	}
	title := "This would let it be scheduled"
	if len(e.Suggestions) > 1 {
		title = "Each of these would let it be scheduled"
	}
	fmt.Fprintf(b, "\n%s\n\n", style.paint(bold, title))
	for _, suggestion := range e.Suggestions {
		texts := make([]string, len(suggestion.Changes))
		here := false
		for i, change := range suggestion.Changes {
			texts[i] = change.Text
			if len(change.Pods) > 0 {
				texts[i] += " (ending " + list(change.Pods) + " would do)"
			}
			here = here || change.Kind == "Node" || strings.Contains(change.Text+",", " on "+suggestion.Node+",")
		}
		text := list(texts)
		if !here && suggestion.Node != "" {
			text += " (then " + suggestion.Node + " takes it)"
		}
		fmt.Fprintf(b, "%s\n", style.paragraph("  - "+text, "    "))
	}
}

// drawScores lists the best nodes for a pod that has one.
func drawScores(b *strings.Builder, style Style, e *inspect.Explanation) {
	if len(e.Scores) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s\n\n", style.paint(bold, "The best nodes, if it were placed now (score times weight)"))
	list := table{indent: "  ", header: []string{"NODE", "TOTAL", "PLUGINS"}, right: map[int]bool{1: true}}
	for _, score := range e.Scores {
		var parts []string
		for _, plugin := range score.Plugins {
			if plugin.Score != 0 {
				parts = append(parts, fmt.Sprintf("%s %d", plugin.Plugin, plugin.Score))
			}
		}
		name := cell{score.Node, cyan}
		if score.Node == e.Node {
			name = cell{score.Node, green}
		}
		list.cells(name, cell{text: decimal(int(score.Total))}, cell{text: strings.Join(parts, ", ")})
	}
	list.draw(b, style)
}
