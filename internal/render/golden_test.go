// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rouse-scheduler/rouse/inspect"
	"github.com/rouse-scheduler/rouse/internal/render"
	"github.com/rouse-scheduler/rouse/simulate"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares what a function writes with a file in testdata.
func golden(t *testing.T, name string, write func(io.Writer) error) {
	t.Helper()
	var got bytes.Buffer
	if err := write(&got); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("%s differs; if it should, run the test with -update (-want +got):\n%s", path, diff)
	}
}

// views are the golden files of package inspect, which are the input of the golden tests of this package.
const views = "../../inspect/testdata"

// read decodes a golden file of package inspect.
func read[T any](t *testing.T, name string) *T {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(views, name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	value := new(T)
	if err := decoder.Decode(value); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return value
}

// textOf returns what writes the golden file of package inspect with that name as text.
func textOf(t *testing.T, name string, style render.Style) func(io.Writer) error {
	t.Helper()
	kind, _, _ := strings.Cut(name, "_")
	return func(w io.Writer) error {
		switch kind {
		case "audit":
			return render.Audit(w, read[inspect.Audit](t, name), style)
		case "configuration":
			return render.Configuration(w, read[inspect.Configuration](t, name), style)
		case "differences":
			return render.Differences(w, read[inspect.Differences](t, name), style)
		case "explain":
			return render.Explanation(w, read[inspect.Explanation](t, name), style)
		case "plugins":
			return render.Plugins(w, read[inspect.Plugins](t, name), style)
		case "events":
			if strings.HasPrefix(name, "events_of_") {
				return render.EventList(w, read[inspect.Events](t, name), style)
			}
			return render.Events(w, read[inspect.Events](t, name), style)
		}
		t.Fatalf("no function renders %s", name)
		return nil
	}
}

// viewNames returns the names of the golden files of package inspect.
func viewNames(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(views, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no golden files in %s: %v", views, err)
	}
	var names []string
	for _, file := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(file), ".json"))
	}
	return names
}

func TestText(t *testing.T) {
	for _, name := range viewNames(t) {
		golden(t, name+".txt", textOf(t, name, render.Style{}))
	}
}

// widths are those of an old terminal and of a wide one.
var widths = []int{80, 120}

// TestTextAtWidths has the texts with long messages and lists at the widths of terminals.
func TestTextAtWidths(t *testing.T) {
	for _, name := range []string{"audit_missed", "audit_preemption", "events", "explain_not_asked", "explain_preemption_modest", "explain_waiting", "plugins"} {
		for _, width := range widths {
			golden(t, fmt.Sprintf("%s_%d.txt", name, width), textOf(t, name, render.Style{Width: width}))
		}
	}
}

// TestExplanationsFitTheTerminal has no line of an explanation longer than the terminal is wide.
func TestExplanationsFitTheTerminal(t *testing.T) {
	for _, name := range viewNames(t) {
		for _, width := range widths {
			if !strings.HasPrefix(name, "explain_") {
				continue
			}
			var text bytes.Buffer
			if err := textOf(t, name, render.Style{Width: width})(&text); err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(text.String()) {
				if length := len([]rune(strings.TrimSuffix(line, "\n"))); length > width {
					t.Errorf("%s at %d columns has a line of %d: %s", name, width, length, line)
				}
			}
		}
	}
}

func TestTraceLineAtWidths(t *testing.T) {
	const message = "0/4 nodes are available: 2 Insufficient cpu, 2 node(s) didn't match Pod's node affinity/selector. preemption: 0/4 nodes are " +
		"available: 2 No preemption victims found for incoming pod, 2 Preemption is not helpful for scheduling."
	for name, entry := range map[string]simulate.TraceEntry{
		"message":      {Pod: "default/web", What: simulate.WhatRejected, Plugin: "NodeAffinity,NodeResourcesFit", Message: message},
		"many plugins": {Pod: "default/web", What: simulate.WhatRejected, Plugin: "NodeAffinity,NodePorts,NodeResourcesFit,NodeUnschedulable,TaintToleration,VolumeBinding", Message: message},
		"event":        {Pod: "default/web", What: simulate.WhatWoken, Event: "TargetPodUpdatePodSchedulingGatesEliminated", Plugin: "SchedulingGates", Queue: simulate.PoolBackoff},
	} {
		for _, width := range widths {
			for line := range strings.Lines(render.TraceLine(entry, render.Style{Width: width})) {
				if length := len([]rune(strings.TrimSuffix(line, "\n"))); length > width {
					t.Errorf("%s: at %d columns a line has %d: %s", name, width, length, line)
				}
			}
		}
		if got := render.TraceLine(entry, render.Style{}); strings.Contains(got, "\n") {
			t.Errorf("%s: without a width the entry is folded: %s", name, got)
		}
	}
}

func TestColoredText(t *testing.T) {
	for _, name := range []string{"audit_missed", "events", "explain_waiting"} {
		golden(t, name+"_color.txt", textOf(t, name, render.Style{Color: true, Width: 100}))
	}
}

func TestYAML(t *testing.T) {
	golden(t, "configuration.yaml", func(w io.Writer) error { return render.YAML(w, read[inspect.Configuration](t, "configuration")) })
	golden(t, "events_of_resource.yaml", func(w io.Writer) error { return render.YAML(w, read[inspect.Events](t, "events_of_resource")) })
	golden(t, "plugins.yaml", func(w io.Writer) error { return render.YAML(w, read[inspect.Plugins](t, "plugins")) })
}

// TestJSON reads a value and writes it again, with the characters that HTML would escape as they are.
func TestJSON(t *testing.T) {
	for _, name := range []string{"audit_missed", "configuration", "explain_waiting"} {
		want, err := os.ReadFile(filepath.Join(views, name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		values := map[string]any{
			"audit_missed": read[inspect.Audit](t, "audit_missed"), "configuration": read[inspect.Configuration](t, "configuration"),
			"explain_waiting": read[inspect.Explanation](t, "explain_waiting"),
		}
		var got bytes.Buffer
		if err := render.JSON(&got, values[name]); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got.String()); diff != "" {
			t.Errorf("%s differs (-want +got):\n%s", name, diff)
		}
	}
}
