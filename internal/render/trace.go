// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"strings"

	"github.com/rouse-scheduler/rouse/simulate"
)

// TraceLine returns a line for something that happened to a pod: when, what, to which pod, and why. A message that is too
// long for the width of the style goes below it, indented.
func TraceLine(entry simulate.TraceEntry, style Style) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s  %s", padLeft(entry.At.String(), 9), style.paint(colorOf(entry.What), padRight(string(entry.What), 9)), padRight(entry.Pod, 20))
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
	line := strings.TrimRight(b.String(), " ")
	if entry.Message == "" {
		return line
	}
	if style.Width <= 0 || columns(ansi.ReplaceAllString(line, ""))+2+columns(entry.Message) <= style.Width {
		return line + ": " + entry.Message
	}
	const indent = "             "
	return line + ":\n" + indent + style.paragraph(entry.Message, indent)
}

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
