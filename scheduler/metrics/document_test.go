// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/rouse-scheduler/rouse/scheduler/metrics"
)

var update = flag.Bool("update", false, "rewrite the table of docs/metrics.md")

// The table of the document is made from the definitions.
func TestDocumentIsUpToDate(t *testing.T) {
	const path, begin, end = "../../docs/metrics.md", "<!-- begin of the table -->\n", "<!-- end of the table -->\n"
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(content), begin)
	got, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no table between %q and %q", path, begin, end)
	}
	want := table()
	if *update {
		if err := os.WriteFile(path, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		got = want
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("the table of %s is out of date; run the test with -update (-want +got):\n%s", path, diff)
	}
}

func table() string {
	var lines strings.Builder
	lines.WriteString("| metric | kind | labels | stability | what it measures |\n| --- | --- | --- | --- | --- |\n")
	for _, definition := range metrics.Definitions() {
		kind := string(definition.Kind)
		if buckets := definition.Buckets; len(buckets) > 0 {
			kind += fmt.Sprintf(", %d buckets from %v to %.4g", len(buckets), buckets[0], buckets[len(buckets)-1])
		}
		stability := string(definition.Stability)
		if definition.Deprecated != "" {
			stability += ", deprecated since " + definition.Deprecated
		}
		labels := cmp.Or(strings.Join(definition.Labels, ", "), "none")
		fmt.Fprintf(&lines, "| `%s` | %s | %s | %s | %s |\n", definition.Name, kind, labels, stability, definition.Help)
	}
	return lines.String()
}
