// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
)

// Marks of the matrix.
const (
	markHint   = "●"
	markAlways = "○"
	markNone   = "·"
)

// WriteText writes a matrix for each profile, events down and plugins across, or after [Events.Narrow] a list.
func (e *Events) WriteText(w io.Writer, style Style) error {
	var b strings.Builder
	for i, profile := range e.Profiles {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "Profile %s\n\n", style.paint(bold, profile.SchedulerName))
		switch {
		case len(profile.Atomic) == 0 && e.narrowed:
			b.WriteString("  No plugin waits for this.\n")
		case len(profile.Atomic) == 0:
			b.WriteString("  No plugin waits for any event.\n")
		case e.narrowed:
			drawEventList(&b, style, profile.Atomic)
		default:
			drawMatrix(&b, style, profile.Atomic)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// drawEventList writes a line for each event and plugin.
func drawEventList(b *strings.Builder, style Style, events []AtomicEvent) {
	list := table{indent: "  ", header: []string{"EVENT", "PLUGIN", "WAKES ITS PODS"}}
	for _, event := range events {
		label := event.Event
		for _, plugin := range event.Plugins {
			wakes := cell{"always", yellow}
			if plugin.Hint {
				wakes = cell{"if its hint says so", green}
			}
			list.cells(cell{text: label}, cell{text: plugin.Name}, wakes)
		}
	}
	list.draw(b, style)
}

// drawMatrix writes as many matrices, one below the other, as it takes to show every plugin in the width of the style,
// and a legend.
func drawMatrix(b *strings.Builder, style Style, events []AtomicEvent) {
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
			if slices.ContainsFunc(event.Plugins, func(plugin EventPlugin) bool { return slices.Contains(part, plugin.Name) }) {
				drawMatrixRow(b, style, event, part, labelWidth)
			}
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(b, "  %s wakes the pods that the plugin rejected, if its queueing hint says so\n", style.paint(green, markHint))
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

func drawMatrixRow(b *strings.Builder, style Style, event AtomicEvent, names []string, labelWidth int) {
	b.WriteString("  " + padRight(event.Event, labelWidth))
	for _, name := range slices.Backward(names) {
		at := slices.IndexFunc(event.Plugins, func(plugin EventPlugin) bool { return plugin.Name == name })
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

func pluginNames(events []AtomicEvent) []string {
	names := sets.New[string]()
	for _, event := range events {
		for _, plugin := range event.Plugins {
			names.Insert(plugin.Name)
		}
	}
	return sets.List(names)
}
