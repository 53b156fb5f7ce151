// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestThroughput(t *testing.T) {
	start := time.Unix(1_000, 0)
	at := func(millis ...int) (times []time.Time) {
		for _, ms := range millis {
			times = append(times, start.Add(time.Duration(ms)*time.Millisecond))
		}
		return times
	}
	for name, test := range map[string]struct {
		scheduled []time.Time
		want      Throughput
	}{
		"none":            {nil, Throughput{}},
		"within a second": {at(100, 500), Throughput{Average: 4, Perc50: 4, Perc90: 4, Perc95: 4, Perc99: 4}},
		// Three whole seconds with 1, 0 and 3 pods; the half second at the end counts for the average.
		"seconds without pods": {at(200, 2100, 2200, 2300, 3500), Throughput{Average: 5 / 3.5, Perc50: 1, Perc90: 3, Perc95: 3, Perc99: 3}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, throughput(start, test.scheduled)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAttemptsOfThePhase(t *testing.T) {
	read := func(lines string) histograms {
		read, err := parseMetrics("# TYPE scheduler_scheduling_attempt_duration_seconds histogram\n" + lines)
		if err != nil {
			t.Fatal(err)
		}
		return read.attempts
	}
	series := func(profile string, small, large, all, sum string) string {
		labels := `profile="` + profile + `",result="scheduled"`
		const name = "scheduler_scheduling_attempt_duration_seconds"
		return name + `_bucket{` + labels + `,le="0.1"} ` + small + "\n" + name + `_bucket{` + labels + `,le="0.2"} ` + large + "\n" +
			name + `_bucket{` + labels + `,le="+Inf"} ` + all + "\n" + name + `_sum{` + labels + `} ` + sum + "\n" + name + `_count{` + labels + `} ` + all + "\n"
	}
	before := read(series("a", "5", "5", "5", "0.5"))
	after := read(series("a", "5", "9", "9", "1.1") + series("b", "4", "4", "4", "0.2"))
	want := map[string]Latency{"scheduled": {Count: 8, Mean: 0.1, Perc50: 0.1, Perc99: 0.198}}
	round := cmp.Comparer(func(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 })
	if diff := cmp.Diff(want, after.since(before), round); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTableAndPage(t *testing.T) {
	outcome := func(pods, cpu float64, peak int64) []Outcome {
		return []Outcome{{
			Pods: 100, PodsPerSecond: Throughput{Average: pods, Perc50: pods}, CPUSeconds: cpu, PeakBytes: peak,
			Attempts: map[string]Latency{"scheduled": {Perc50: 0.001, Perc99: 0.002}},
		}}
	}
	rows := []Row{
		{Topic: "misc", Case: "A", Size: "5Nodes", Threshold: 790, Results: map[string][]Outcome{rouse: outcome(500, 0.5, 50<<20), kubeScheduler: outcome(250, 5, 100<<20)}},
		{Topic: "misc", Case: "A", Size: "1Node", Results: map[string][]Outcome{rouse: outcome(500, 0.5, 50<<20), kubeScheduler: outcome(250, 0, 100<<20)}},
		{Topic: "misc", Case: "B", Size: "5Nodes", Unbuilt: "gangs"},
		{Topic: "misc", Case: "C", Size: "5Nodes", Results: map[string][]Outcome{kubeScheduler: outcome(250, 5, 100<<20)}, Failures: map[string]string{rouse: "it has not ended"}},
	}
	var out strings.Builder
	if err := writeTable(&out, rows); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"misc/A/5Nodes 100 500, 250 2.00x 500, 250 790 0.50, 5.00 10.0x 50.0, 100 2.00x 1.00, 1.00 2.00, 2.00 - -",
		"misc/A/1Node 100 500, 250 2.00x 500, 250 - 0.50, - - 50.0, 100 2.00x 1.00, 1.00 2.00, 2.00 - -",
		"misc/B/5Nodes - - - - - - - - - - - - not built: gangs",
		"misc/C/5Nodes 100 -, 250 - -, 250 - -, 5.00 - -, 100 - -, 1.00 -, 2.00 - rouse failed",
	}
	var got []string
	for line := range strings.Lines(out.String()) {
		got = append(got, strings.Join(strings.Fields(line), " "))
	}
	if diff := cmp.Diff(want, got[1:]); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
	if text := markdown(&Report{CPUs: 2, Go: "go1.26", Rows: rows}); strings.Count(text, "\n") != 8 || !strings.Contains(text, "| misc/B/5Nodes |") {
		t.Errorf("the page has:\n%s", text)
	}
}

func TestRequestsOfThePhase(t *testing.T) {
	read := func(patches, conflicts, posts string) *readings {
		const name = "rest_client_requests_total"
		read, err := parseMetrics("# TYPE " + name + " counter\n" +
			name + `{code="200",host="a",method="PATCH"} ` + patches + "\n" + name + `{code="409",host="a",method="PATCH"} ` + conflicts + "\n" +
			name + `{code="201",host="a",method="POST"} ` + posts + "\n" + name + `{code="200",host="a",method="GET"} 7` + "\n")
		if err != nil {
			t.Fatal(err)
		}
		return read
	}
	sent := read("10", "2", "5").requestsSince(read("4", "1", "0"))
	if diff := cmp.Diff(map[string]int{"PATCH": 7, "POST": 5}, sent); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := (&Outcome{Pods: 4, Requests: sent}).requestsPerPod(); got != 3 {
		t.Errorf("%v requests a pod, want 3", got)
	}
}
