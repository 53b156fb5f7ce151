// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package forgotten

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/rouse-scheduler/rouse/inspect"
	"github.com/rouse-scheduler/rouse/plugins"
	"github.com/rouse-scheduler/rouse/simulate"
	"github.com/rouse-scheduler/rouse/test/kubescheduler"
)

// counterExample is a scenario that shows a miss of kube-scheduler's plugins in the default profile.
type counterExample struct {
	file  string
	text  []byte
	shows miss
}

// counterExamples returns the scenarios of testdata. A line of each says what it shows: the plugin, the event and the reason.
func counterExamples(t *testing.T) (all []counterExample) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios in testdata: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := bytes.Cut(text, []byte("# missed: "))
		line, _, _ := strings.Cut(string(rest), "\n")
		words := strings.Fields(line)
		if len(words) != 3 {
			t.Fatalf("%s has no line \"# missed: PLUGIN EVENT REASON\"", file)
		}
		all = append(all, counterExample{filepath.Base(file), text, miss{words[0], words[1], inspect.MissReason(words[2])}})
	}
	return all
}

// TestCounterExamples audits each scenario with kube-scheduler's plugins, which miss the wake-up, and runs it with Rouse's, which do
// not; the page about them has to have it.
func TestCounterExamples(t *testing.T) {
	page, err := os.ReadFile("../../docs/forgotten-events.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, example := range counterExamples(t) {
		t.Run(example.file, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				found, err := setting{registry: kubescheduler.Plugins()}.audit(t.Context(), example.text)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff([]miss{example.shows}, sorted(missesOf(found)), cmp.AllowUnexported(miss{})); diff != "" {
					t.Errorf("what kube-scheduler's plugins miss (-want +got):\n%s", diff)
				}
				ours, err := setting{registry: plugins.NewInTreeRegistry()}.audit(t.Context(), example.text)
				if err != nil {
					t.Fatal(err)
				}
				if len(ours.Missed) > 0 {
					t.Errorf("Rouse's plugins miss %+v", ours.Missed)
				}
				input, err := simulate.Parse(example.file, example.text)
				if err != nil {
					t.Fatal(err)
				}
				report, err := simulate.Run(t.Context(), input, simulate.Options{})
				if err != nil || len(report.Failures) > 0 {
					t.Errorf("with Rouse's plugins: %v %v", err, report.Failures)
				}
			})
			if !bytes.Contains(page, []byte("(../test/forgotten/testdata/"+example.file+")")) {
				t.Errorf("docs/forgotten-events.md does not have %s", example.file)
			}
		})
	}
}
