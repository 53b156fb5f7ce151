// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rouse-scheduler/rouse/internal/render"
	"github.com/rouse-scheduler/rouse/simulate"
)

func at(seconds float64) simulate.Time { return simulate.Time(seconds * float64(time.Second)) }

// label wakes the pod a, and a deleted pod wakes the pod b in vain.
func usualReport() *simulate.Report {
	return &simulate.Report{
		Profiles: []string{"default-scheduler", "packing"},
		Summary: simulate.Summary{
			Nodes: 2, Pods: 4, Bound: 1, Unschedulable: 1, Gated: 1, Attempts: 5, Wasted: 1, Wakeups: 2, Events: 3,
			VirtualSeconds: 60, WallSeconds: 0.0123,
		},
		Pods: []simulate.PodState{
			{Namespace: "default", Name: "a", Node: "n1", Pool: simulate.PoolBound, Attempts: 2, RejectedBy: []string{}, BoundAt: "10s", WokenBy: "NodeUpdateNodeLabel"},
			{Namespace: "default", Name: "b", Pool: simulate.PoolUnschedulable, Attempts: 2, RejectedBy: []string{"NodeAffinity", "NodePorts"},
				Message: "0/2 nodes are available:\n1 node(s) didn't match <selector>, 1 port & more"},
			{Namespace: "default", Name: "c", Pool: simulate.PoolGated, RejectedBy: []string{"SchedulingGates"}, Message: "gated"},
			{Namespace: "default", Name: "d", Node: "n1", Pool: simulate.PoolDeleted, Attempts: 1, RejectedBy: []string{}, BoundAt: "0s"},
		},
		Trace: []simulate.TraceEntry{
			{At: 0, Pod: "default/c", What: simulate.WhatRejected, Plugin: "SchedulingGates", Message: "gated"},
			{At: 0, Pod: "default/d", What: simulate.WhatAttempt},
			{At: 0, Pod: "default/d", What: simulate.WhatBound, Node: "n1"},
			{At: 0, Pod: "default/a", What: simulate.WhatAttempt},
			{At: 0, Pod: "default/a", What: simulate.WhatRejected, Plugin: "NodeAffinity", Message: "no node"},
			{At: 0, Pod: "default/b", What: simulate.WhatAttempt},
			{At: 0, Pod: "default/b", What: simulate.WhatRejected, Plugin: "NodeAffinity,NodePorts", Message: "<no> node"},
			{At: at(10), Pod: "default/b", What: simulate.WhatSkipped, Event: "NodeUpdateNodeLabel", Plugin: "NodeAffinity"},
			{At: at(10), Pod: "default/a", What: simulate.WhatWoken, Event: "NodeUpdateNodeLabel", Plugin: "NodeAffinity", Queue: simulate.PoolActive},
			{At: at(10), Pod: "default/a", What: simulate.WhatAttempt},
			{At: at(10), Pod: "default/a", What: simulate.WhatBound, Node: "n1"},
			{At: at(30), Pod: "default/d", What: simulate.WhatDeleted, Node: "n1"},
			{At: at(30), Pod: "default/b", What: simulate.WhatWoken, Event: "AssignedPodDelete", Plugin: "NodePorts", Queue: simulate.PoolBackoff},
			{At: at(32), Pod: "default/b", What: simulate.WhatAttempt},
			{At: at(32), Pod: "default/b", What: simulate.WhatRejected, Plugin: "NodeAffinity", Message: "<no> node"},
		},
	}
}

func TestReportGolden(t *testing.T) {
	report := usualReport()
	golden(t, "report.txt", reportText(report, render.Style{}))
	golden(t, "report_color.txt", reportText(report, render.Style{Color: true, Width: 80}))
	golden(t, "report.json", func(w io.Writer) error { return render.JSON(w, report) })
	golden(t, "report.html", func(w io.Writer) error { return render.ReportHTML(w, report) })
	report.Failures = []simulate.ExpectationFailure{{Position: "s.yaml:3:5", At: at(60), Pod: "default/b", Wanted: "pool bound", Found: "pool unschedulable"}}
	report.Warnings = []string{"ignored objects"}
	report.Trace = nil
	golden(t, "report_without_trace.txt", reportText(report, render.Style{}))
	golden(t, "report_without_trace.html", func(w io.Writer) error { return render.ReportHTML(w, report) })
}

func reportText(report *simulate.Report, style render.Style) func(io.Writer) error {
	return func(w io.Writer) error { return render.Report(w, report, style) }
}

func page(t *testing.T, report *simulate.Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := render.ReportHTML(&b, report); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestPageEscapes puts text that would be markup into every field that comes from the input.
func TestPageEscapes(t *testing.T) {
	const evil = `"'><script>alert(1)</script><x y="`
	report := usualReport()
	report.Profiles = []string{evil}
	report.Warnings = []string{evil}
	report.Failures = []simulate.ExpectationFailure{{Position: evil, Pod: evil, Wanted: evil, Found: evil}}
	for i := range report.Pods {
		pod := &report.Pods[i]
		pod.Namespace, pod.Name, pod.Node, pod.BoundAt, pod.Message = evil, evil, evil, evil, evil
		pod.RejectedBy = []string{evil}
	}
	for i := range report.Trace {
		entry := &report.Trace[i]
		entry.Pod, entry.Event, entry.Plugin, entry.Node, entry.Message = evil, evil, evil, evil, evil
	}
	text := page(t, report)
	if strings.Contains(text, "<script") || strings.Contains(text, "<x") {
		t.Error("the page has markup of the input in it")
	}
	checkMarkup(t, text)
}

func TestPageNeedsNothingElse(t *testing.T) {
	text := page(t, usualReport())
	for _, reference := range []string{"http:", "https:", "src=", "href=", "url(", "@import", "<script", "<link"} {
		if strings.Contains(text, reference) {
			t.Errorf("the page contains %q", reference)
		}
	}
	checkMarkup(t, text)
}

// checkMarkup checks that every element of the body is closed, and that attributes have quotes.
func checkMarkup(t *testing.T, text string) {
	t.Helper()
	_, body, found := strings.Cut(text, "<body>")
	if !found {
		t.Fatal("the page has no body")
	}
	decoder := xml.NewDecoder(strings.NewReader("<body>" + strings.TrimSuffix(strings.TrimSpace(body), "</html>")))
	for {
		_, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("the page is not well-formed: %v", err)
		}
	}
}

// TestLargePage checks that a page stays small enough for a browser, whatever happened.
func TestLargePage(t *testing.T) {
	report := &simulate.Report{Profiles: []string{"default-scheduler"}, Summary: simulate.Summary{VirtualSeconds: 10000}}
	for i := range 5000 {
		pod := fmt.Sprintf("pod-%d", i)
		state := simulate.PodState{Namespace: "default", Name: pod, Pool: simulate.PoolBound}
		if i == 4999 {
			state.Name, state.Pool = "waits", simulate.PoolUnschedulable
		}
		report.Pods = append(report.Pods, state)
	}
	for i := range 20000 {
		pod, now := fmt.Sprintf("default/pod-%d", i%300), at(float64(i)/2)
		report.Trace = append(report.Trace,
			simulate.TraceEntry{At: now, Pod: pod, What: simulate.WhatWoken, Event: fmt.Sprintf("Event%d", i%40), Plugin: "P", Queue: simulate.PoolActive},
			simulate.TraceEntry{At: now, Pod: pod, What: simulate.WhatAttempt},
			simulate.TraceEntry{At: now, Pod: pod, What: simulate.WhatRejected, Plugin: "P"},
		)
	}
	text := page(t, report)
	if megabytes := len(text) >> 20; megabytes > 20 {
		t.Errorf("the page has %d MB", megabytes)
	}
	for _, want := range []string{"120 of 300 pods", "The first 2000 of 5000 pods", "default/waits"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	checkMarkup(t, text)
}

// TestPageWithoutTime checks the corner in which everything happens at once.
func TestPageWithoutTime(t *testing.T) {
	text := page(t, &simulate.Report{Trace: []simulate.TraceEntry{{Pod: "default/a", What: simulate.WhatBound, Node: "n1"}}})
	checkMarkup(t, text)
	if strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
		t.Error("the page has coordinates that are no numbers")
	}
	checkMarkup(t, page(t, &simulate.Report{}))
}

func TestLongSummary(t *testing.T) {
	report := &simulate.Report{}
	for i := range 150 {
		report.Pods = append(report.Pods, simulate.PodState{Namespace: "default", Name: fmt.Sprintf("p%03d", i), Pool: simulate.PoolBackoff})
	}
	var b strings.Builder
	if err := render.Report(&b, report, render.Style{}); err != nil {
		t.Fatal(err)
	}
	if text := b.String(); !strings.Contains(text, "default/p099") || strings.Contains(text, "default/p100") || !strings.Contains(text, "and 50 more") {
		t.Errorf("a long list is not cut after 100 pods:\n%s", text)
	}
}

func TestTimelineBars(t *testing.T) {
	tests := map[string]struct {
		trace []simulate.TraceEntry
		want  []string // titles of the bars
	}{
		"bound at once": {
			[]simulate.TraceEntry{{What: simulate.WhatAttempt}, {What: simulate.WhatBound, Node: "n1"}},
			[]string{"d/p: bound from 0s to 1m0s, on n1"},
		},
		"gated, then bound": {
			[]simulate.TraceEntry{
				{What: simulate.WhatRejected, Plugin: "SchedulingGates"},
				{At: at(5), What: simulate.WhatWoken, Event: "E", Queue: simulate.PoolActive},
				{At: at(5), What: simulate.WhatAttempt}, {At: at(5), What: simulate.WhatBound, Node: "n1"},
			},
			[]string{"d/p: gated from 0s to 5s, rejected by SchedulingGates", "d/p: bound from 5s to 1m0s, on n1"},
		},
		"backoff after a rejection": {
			[]simulate.TraceEntry{
				{What: simulate.WhatAttempt}, {What: simulate.WhatRejected, Plugin: "P", Queue: simulate.PoolBackoff, Message: "later"},
				{At: at(10), What: simulate.WhatAttempt}, {At: at(10), What: simulate.WhatRejected, Plugin: "P"},
			},
			[]string{"d/p: backoff from 0s to 10s, rejected by P: later", "d/p: unschedulable from 10s to 1m0s, rejected by P"},
		},
		"waits for permission": {
			[]simulate.TraceEntry{{What: simulate.WhatAttempt}, {At: at(20), What: simulate.WhatBound, Node: "n1"}},
			[]string{"d/p: active from 0s to 20s", "d/p: bound from 20s to 1m0s, on n1"},
		},
		"deleted and made again": {
			[]simulate.TraceEntry{
				{What: simulate.WhatAttempt}, {What: simulate.WhatBound, Node: "n1"}, {At: at(10), What: simulate.WhatPreempted, Node: "n1"},
				{At: at(30), What: simulate.WhatAttempt}, {At: at(30), What: simulate.WhatBound, Node: "n2"}, {At: at(40), What: simulate.WhatDeleted, Node: "n2"},
			},
			[]string{"d/p: bound from 0s to 10s, on n1", "d/p: bound from 30s to 40s, on n2"},
		},
		"skipped": {
			[]simulate.TraceEntry{
				{What: simulate.WhatAttempt}, {What: simulate.WhatRejected, Plugin: "P"},
				{At: at(10), What: simulate.WhatSkipped, Event: "E", Plugin: "P"},
			},
			[]string{"d/p: unschedulable from 0s to 1m0s, rejected by P"},
		},
	}
	titles := regexp.MustCompile(`<rect [^>]*><title>([^<]*)</title>`)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for i := range test.trace {
				test.trace[i].Pod = "d/p"
			}
			text := page(t, &simulate.Report{Trace: test.trace, Summary: simulate.Summary{VirtualSeconds: 60}})
			var got []string
			for _, match := range titles.FindAllStringSubmatch(text, -1) {
				got = append(got, match[1])
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("bars (-want +got):\n%s", diff)
			}
		})
	}
}
