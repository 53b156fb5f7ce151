// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rouse-scheduler/rouse/inspect"
	"github.com/rouse-scheduler/rouse/internal/render"
)

func TestMatrixFitsTheTerminal(t *testing.T) {
	events := read[inspect.Events](t, "events")
	for _, width := range []int{60, 70, 80, 200} {
		var b strings.Builder
		if err := render.Events(&b, events, render.Style{Width: width}); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			isMatrix := strings.ContainsAny(line, "┐│·") && !strings.Contains(line, "wakes")
			if columns := len([]rune(strings.TrimSuffix(line, "\n"))); isMatrix && columns > width {
				t.Errorf("at width %d a line has %d columns: %s", width, columns, line)
			}
		}
	}
}

// TestMatrixAgreesWithAtomic reads the matrix back: the lines that lead from the names to the columns, and the marks.
func TestMatrixAgreesWithAtomic(t *testing.T) {
	events := read[inspect.Events](t, "events")
	for _, width := range []int{0, 60} {
		var b strings.Builder
		if err := render.Events(&b, events, render.Style{Width: width}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(marksOf(events.Profiles[0]), readMatrix(b.String())); diff != "" {
			t.Errorf("width %d: the matrix says something else than the rows (-rows +matrix):\n%s", width, diff)
		}
	}
}

func marksOf(profile inspect.ProfileEvents) map[string]string {
	marks := map[string]string{}
	for _, row := range profile.Atomic {
		for _, plugin := range row.Plugins {
			marks[row.Event+" "+plugin.Name] = "○"
			if plugin.Hint {
				marks[row.Event+" "+plugin.Name] = "●"
			}
		}
	}
	return marks
}

func readMatrix(text string) map[string]string {
	marks := map[string]string{}
	columns := map[int]string{}
	header := false
	for line := range strings.Lines(text) {
		letters := []rune(line)
		if at := slices.Index(letters, '┐'); at >= 0 {
			if !header {
				columns = map[int]string{}
			}
			header = true
			columns[at] = strings.Fields(line)[0]
			continue
		}
		header = false
		if strings.Contains(line, "wakes") {
			continue
		}
		for at, letter := range letters {
			if letter == '●' || letter == '○' {
				marks[strings.Fields(line)[0]+" "+columns[at]] = string(letter)
			}
		}
	}
	return marks
}
