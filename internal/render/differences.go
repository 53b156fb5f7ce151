// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"io"
	"strings"

	"github.com/rouse-scheduler/rouse/inspect"
)

// Differences writes a line for each difference, by profile: "+" what only the new configuration has, "-" what only the
// old one has, "~" what has changed.
func Differences(w io.Writer, d *inspect.Differences, style Style) error {
	var b strings.Builder
	if len(d.Differences) == 0 {
		b.WriteString("The configurations have the same effect.\n")
	} else {
		fmt.Fprintf(&b, "%s\n%s\n", style.paint(red, "--- "+sourceName(d.Old)), style.paint(green, "+++ "+sourceName(d.New)))
	}
	for i, difference := range d.Differences {
		if i == 0 || difference.Profile != d.Differences[i-1].Profile {
			title := "Settings"
			if difference.Profile != "" {
				title = "Profile " + difference.Profile
			}
			fmt.Fprintf(&b, "\n%s\n", style.paint(bold, title))
		}
		drawDifference(&b, style, &difference)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func sourceName(source string) string {
	if source == "" {
		return "default configuration"
	}
	return source
}

func drawDifference(b *strings.Builder, style Style, d *inspect.Difference) {
	var line string
	switch {
	case d.Field == "" && d.Old == "":
		line = style.paint(green, "+ only in the new configuration")
	case d.Field == "":
		line = style.paint(red, "- only in the old configuration")
	case d.Old == "":
		line = style.paint(green, fmt.Sprintf("+ %s: %s", d.Field, d.New))
	case d.New == "":
		line = style.paint(red, fmt.Sprintf("- %s: %s", d.Field, d.Old))
	default:
		line = style.paint(yellow, fmt.Sprintf("~ %s: %s -> %s", d.Field, d.Old, d.New))
	}
	b.WriteString("  " + line + "\n")
}
