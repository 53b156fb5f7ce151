// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rouse-scheduler/rouse/inspect"
)

var update = flag.Bool("update", false, "write the golden files anew")

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

func text(view inspect.View, style inspect.Style) func(io.Writer) error {
	return func(w io.Writer) error { return view.WriteText(w, style) }
}

func asJSON(value any) func(io.Writer) error {
	return func(w io.Writer) error { return inspect.WriteJSON(w, value) }
}

func asYAML(value any) func(io.Writer) error {
	return func(w io.Writer) error { return inspect.WriteYAML(w, value) }
}
