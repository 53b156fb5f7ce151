// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"strings"

	"github.com/rouse-scheduler/rouse/simulate"
)

// TraceLine returns a line for something that happened to a pod: when, what, to which pod, and why. What is too long for the
// width of the style goes below it, indented.
func TraceLine(entry simulate.TraceEntry, style Style) string {
	head := fmt.Sprintf("%s  %s  %s", padLeft(entry.At.String(), 9), style.paint(colorOf(entry.What), padRight(string(entry.What), 9)), padRight(entry.Pod, 20))
	cause := causeOf(entry, style)
	line := strings.TrimRight(head+cause, " ")
	whole := line
	if entry.Message != "" {
		whole += ": " + entry.Message
	}
	if style.Width <= 0 || visible(whole) <= style.Width {
		return whole
	}
	const indent = "             "
	if visible(line) >= style.Width {
		cause = strings.Join(strings.Fields(strings.ReplaceAll(cause, ",", ", ")), " ")
		folded := foldStyled(cause, max(style.Width-1-len(indent), 20)) // a colon may follow
		line = strings.TrimRight(head, " ") + "\n" + indent + strings.ReplaceAll(folded, "\n", "\n"+indent)
	}
	if entry.Message == "" {
		return line
	}
	return line + ":\n" + indent + style.paragraph(entry.Message, indent)
}

// causeOf returns what a line says after the pod, except for the message.
func causeOf(entry simulate.TraceEntry, style Style) string {
	var b strings.Builder
	switch {
	case entry.Event != "" && entry.Plugin != "":
		fmt.Fprintf(&b, "  by %s for %s", style.paint(cyan, entry.Event), entry.Plugin)
	case entry.Event != "":
		fmt.Fprintf(&b, "  by %s", style.paint(cyan, entry.Event))
	case entry.Plugin != "":
		fmt.Fprintf(&b, "  by %s", entry.Plugin)
	}
	if entry.Node != "" {
		fmt.Fprintf(&b, "  on %s", entry.Node)
	}
	if entry.By != "" {
		fmt.Fprintf(&b, " for %s", entry.By)
	}
	if entry.Queue != "" {
		fmt.Fprintf(&b, "  to %s", entry.Queue)
	}
	return b.String()
}

// visible returns how many columns a text takes, colours apart.
func visible(text string) int { return columns(ansi.ReplaceAllString(text, "")) }

func colorOf(what simulate.What) color {
	switch what {
	case simulate.WhatBound:
		return green
	case simulate.WhatRejected:
		return yellow
	case simulate.WhatWoken:
		return cyan
	case simulate.WhatPreempted, simulate.WhatDeleted, simulate.WhatFailed:
		return red
	default:
		return dim
	}
}
