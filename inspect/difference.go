// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"fmt"
	"io"
	"strings"

	"github.com/rouse-scheduler/rouse/profiles"
)

// Differences shows where two configurations differ in effect, whichever way they are written.
type Differences struct {
	// Old and New are the files that are compared, empty for the default configuration.
	Old         string       `json:"old"`
	New         string       `json:"new"`
	Differences []Difference `json:"differences"`
}

// Difference is a setting with two values.
type Difference struct {
	// Profile is the scheduler name of the profile that the setting belongs to, empty for settings that all share.
	Profile string `json:"profile,omitempty"`
	// Field is the path of the setting, in the profile if there is one, such as plugins.score[NodeAffinity]. It is
	// empty for a profile that only one configuration has.
	Field string `json:"field"`
	// Old and New are the values, empty where the setting is missing.
	Old string `json:"old"`
	New string `json:"new"`
}

// NewDifferences compares two configurations; implements tells which plugin implements which extension point.
func NewDifferences(before, after *profiles.Configuration, implements func(plugin string, point profiles.ExtensionPoint) bool) *Differences {
	view := &Differences{Old: before.Source, New: after.Source, Differences: []Difference{}}
	for _, found := range profiles.DiffResolved(before, after, implements) {
		difference := Difference{Field: found.Field, Old: found.Left, New: found.Right}
		for _, config := range []*profiles.Configuration{before, after} {
			for i := range config.Profiles {
				name := config.Profiles[i].SchedulerName
				if rest, ok := strings.CutPrefix(found.Field, "profiles["+name+"]"); ok {
					difference.Profile, difference.Field = name, strings.TrimPrefix(rest, ".")
				}
			}
		}
		view.Differences = append(view.Differences, difference)
	}
	return view
}

// WriteText writes a line for each difference, by profile: "+" what only the new configuration has, "-" what only the
// old one has, "~" what has changed.
func (d *Differences) WriteText(w io.Writer, style Style) error {
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
		difference.draw(&b, style)
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

func (d *Difference) draw(b *strings.Builder, style Style) {
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
