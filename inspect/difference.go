// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
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

// NewDifferences compares two configurations; implements reports which plugin implements which extension point.
func NewDifferences(before, after *profiles.Configuration, implements func(plugin string, point profiles.ExtensionPoint) bool) *Differences {
	view := &Differences{Old: before.Source, New: after.Source, Differences: []Difference{}}
	for _, found := range profiles.Diff(before, after, implements) {
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
