// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/rouse-scheduler/rouse/inspect"
)

// Marks of the matrix.
const (
	markHint   = "●"
	markAlways = "○"
	markNone   = "·"
)

// Events writes a matrix for each profile, events down and plugins across.
func Events(w io.Writer, e *inspect.Events, style Style) error {
	return drawEvents(w, e, style, "No plugin registered an event.", drawMatrix)
}

// EventList writes a list for each profile, which reads better than a matrix where a filter left few events.
func EventList(w io.Writer, e *inspect.Events, style Style) error {
	return drawEvents(w, e, style, "No plugin registered such an event.", drawEventList)
}

func drawEvents(w io.Writer, e *inspect.Events, style Style, none string, draw func(*strings.Builder, Style, []inspect.AtomicEvent)) error {
	var b strings.Builder
	for i, profile := range e.Profiles {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "Profile %s\n\n", style.paint(bold, profile.SchedulerName))
		if len(profile.Atomic) == 0 {
			fmt.Fprintf(&b, "  %s\n", none)
			continue
		}
		draw(&b, style, profile.Atomic)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// drawEventList writes a line for each event and plugin.
func drawEventList(b *strings.Builder, style Style, events []inspect.AtomicEvent) {
	list := table{indent: "  ", header: []string{"EVENT", "PLUGIN", "WAKES ITS PODS"}}
	for _, event := range events {
		label := event.Event
		for _, plugin := range event.Plugins {
			wakes := cell{"always", yellow}
			if plugin.Hint {
				wakes = cell{"if its hint returns Queue", green}
			}
			list.cells(cell{text: label}, cell{text: plugin.Name}, wakes)
		}
	}
	list.draw(b, style)
}

// drawMatrix writes as many matrices, one below the other, as it takes to show every plugin in the width of the style,
// and a legend.
func drawMatrix(b *strings.Builder, style Style, events []inspect.AtomicEvent) {
	names := pluginNames(events)
	labelWidth := 0
	for _, event := range events {
		labelWidth = max(labelWidth, columns(event.Event))
	}
	for _, name := range names {
		labelWidth = max(labelWidth, columns(name)+1)
	}
	perMatrix := len(names)
	if style.Width > 0 {
		perMatrix = max(1, (style.Width-labelWidth-2)/2)
	}
	for part := range slices.Chunk(names, perMatrix) {
		drawMatrixHeader(b, style, part, labelWidth)
		for _, event := range events {
			if slices.ContainsFunc(event.Plugins, func(plugin inspect.EventPlugin) bool { return slices.Contains(part, plugin.Name) }) {
				drawMatrixRow(b, style, event, part, labelWidth)
			}
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(b, "  %s wakes the pods that the plugin rejected, if its queueing hint returns Queue\n", style.paint(green, markHint))
	fmt.Fprintf(b, "  %s wakes all of them   %s wakes none\n", style.paint(yellow, markAlways), style.paint(dim, markNone))
}

// drawMatrixHeader writes a line for each plugin that leads from its name to its column. The first plugin has the last
// column, so that the lines don't cross.
func drawMatrixHeader(b *strings.Builder, style Style, names []string, labelWidth int) {
	for i, name := range names {
		lead := strings.Repeat("─", labelWidth-columns(name)+2*(len(names)-1-i))
		fmt.Fprintf(b, "  %s %s%s\n", name, style.paint(dim, lead+"┐"), style.paint(dim, strings.Repeat(" │", i)))
	}
}

func drawMatrixRow(b *strings.Builder, style Style, event inspect.AtomicEvent, names []string, labelWidth int) {
	b.WriteString("  " + padRight(event.Event, labelWidth))
	for _, name := range slices.Backward(names) {
		at := slices.IndexFunc(event.Plugins, func(plugin inspect.EventPlugin) bool { return plugin.Name == name })
		mark := style.paint(dim, markNone)
		switch {
		case at < 0:
		case event.Plugins[at].Hint:
			mark = style.paint(green, markHint)
		default:
			mark = style.paint(yellow, markAlways)
		}
		b.WriteString(" " + mark)
	}
	b.WriteByte('\n')
}

func pluginNames(events []inspect.AtomicEvent) []string {
	names := sets.New[string]()
	for _, event := range events {
		for _, plugin := range event.Plugins {
			names.Insert(plugin.Name)
		}
	}
	return sets.List(names)
}
