// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/rouse-scheduler/rouse/test/bench/objects"
)

// These tests do everything that the benchmark does, with little of it, and look at what comes out. How long it takes
// does not matter.

func TestBothContendersPlaceAllPods(t *testing.T) {
	makers := map[string]func(context.Context, settings) (decider, error){
		"rouse": newRouseDecider, "kube-scheduler": newKubeSchedulerDecider,
	}
	for _, c := range []decisionCase{
		{shape: basic}, {shape: basic, unique: true}, {shape: basic, noSpread: true},
		{shape: prefNode}, {shape: spread}, {shape: antiHost}, {shape: prefPodZone},
	} {
		for who, build := range makers {
			t.Run(c.name()+"/"+who, func(t *testing.T) {
				d, err := build(t.Context(), settings{noDefaultSpread: c.noSpread})
				if err != nil {
					t.Fatal(err)
				}
				defer d.close()
				pods := objects.Pods(warmUpPods+50, c.shape, c.unique)
				sample, err := measureDecisions(t.Context(), &meter{}, d, objects.Nodes(120, c.shape), pods)
				if err != nil {
					t.Fatal(err)
				}
				if sample[WallNanos] <= 0 || sample[Allocations] <= 0 {
					t.Errorf("measured %v", sample)
				}
				checkPlacement(t, d, c.shape, pods)
			})
		}
	}
}

// checkPlacement checks what the shape of the pods demands.
func checkPlacement(t *testing.T, d decider, s shape, pods []*v1.Pod) {
	t.Helper()
	perNode, perZone := map[string]int{}, map[string]int{}
	for _, pod := range pods {
		node, err := d.nodeOf(pod)
		if err != nil || node == "" {
			t.Fatalf("pod %s has no node: %v", pod.Name, err)
		}
		perNode[node]++
		perZone[node[len(node)-1:]]++ // the zone of a node is the last digit of its number
		if s == prefNode && strings.HasSuffix(node, "0") {
			t.Errorf("pod %s is on node %s, which is tainted", pod.Name, node)
		}
	}
	for node, count := range perNode {
		if s == antiHost && count > 1 {
			t.Errorf("%d pods are on node %s", count, node)
		}
	}
	for zone, count := range perZone {
		if s == spread && count != len(pods)/objects.Zones {
			t.Errorf("%d pods are in zone %s, want %d", count, zone, len(pods)/objects.Zones)
		}
	}
	if s == prefPodZone && len(perZone) != 1 {
		t.Errorf("the pods are in %d zones, want 1: %v", len(perZone), perZone)
	}
}

func TestEventsWakeWhomTheyShould(t *testing.T) {
	const pods = 100
	for _, c := range eventCases() {
		rooms := &rooms{plugin: c.plugin, size: pods, built: map[Contender]waitingRoom{}}
		t.Cleanup(rooms.close)
		w := c.work(rooms)
		for who, run := range w.runs {
			t.Run(w.Case+"/"+string(who), func(t *testing.T) {
				if _, err := run(t.Context(), &meter{}); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

func TestReport(t *testing.T) {
	row := Row{Workload: "decisions", Case: "basic", Size: 5, Unit: "nodes", Metric: WallNanos, Target: 10, Results: map[Contender]*Result{}}
	for _, wall := range []float64{100, 300, 200} {
		row.add(Rouse, Sample{WallNanos: wall, CPUNanos: 2 * wall, Allocations: 0})
		row.add(KubeScheduler, Sample{WallNanos: 20 * wall, CPUNanos: 2 * wall, Allocations: 7})
	}
	row.summarise()
	report := Report{Format: Format, Runs: 3, Rows: []Row{row}}
	var written bytes.Buffer
	if err := report.write(&written); err != nil {
		t.Fatal(err)
	}
	var read Report
	if err := json.Unmarshal(written.Bytes(), &read); err != nil {
		t.Fatal(err)
	}
	got := read.Rows[0]
	if got.Ratio[WallNanos] != 20 || got.Ratio[CPUNanos] != 1 {
		t.Errorf("ratios are %v, want 20 of wall time and 1 of CPU time", got.Ratio)
	}
	if _, ok := got.Ratio[Allocations]; ok {
		t.Error("there is a ratio to no allocations")
	}
	if median, spread := got.Results[Rouse].Median[WallNanos], got.Results[Rouse].Spread[WallNanos]; median != 200 || spread != 1 {
		t.Errorf("median %v and spread %v, want 200 and 1", median, spread)
	}
	var table strings.Builder
	if err := writeTable(&table, read.Rows); err != nil {
		t.Fatal(err)
	}
	if want := "200 ns (400 ns)  0.00    4.00 µs (400 ns)  7.00    20.0x (1.00x)  10.0x"; !strings.Contains(table.String(), want) {
		t.Errorf("no %q in\n%s", want, table.String())
	}
}

func TestLiveSchedulersFinishTheirWork(t *testing.T) {
	for _, c := range liveCases(100) {
		for who, build := range map[string]newLive{"rouse": newRouseLive, "kube-scheduler": newKubeSchedulerLive} {
			t.Run(c.name+"/"+who, func(t *testing.T) {
				_, api, err := c.measure(t.Context(), &meter{}, build)
				if err != nil {
					t.Fatal(err)
				}
				perNode := map[string]int{}
				for _, pod := range api.current {
					if pod.Spec.NodeName != "" {
						perNode[pod.Spec.NodeName] += int(pod.Spec.Containers[0].Resources.Requests.Cpu().MilliValue())
					}
				}
				for node, milliCPU := range perNode {
					if milliCPU > 32_000 {
						t.Errorf("node %s has pods for %dm CPU", node, milliCPU)
					}
				}
				if api.bound != c.bound {
					t.Errorf("%d pods were bound, want %d", api.bound, c.bound)
				}
			})
		}
	}
}

func TestKeepersListTheWholeCluster(t *testing.T) {
	for _, what := range keptCases() {
		what.nodes, what.pods = 10, 100
		for who, build := range map[string]func(context.Context, *listedClient) (keeper, error){
			"rouse": newRouseKeeper, "kube-scheduler": newKubeSchedulerKeeper,
		} {
			t.Run(what.what+"/"+who, func(t *testing.T) {
				if _, err := what.measure(t.Context(), build); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

func TestFigures(t *testing.T) {
	var rows []Row
	for _, size := range []int{1_000, 50_000} {
		row := Row{Workload: "decisions", Case: "basic, identical", Size: size, Metric: WallNanos, Results: map[Contender]*Result{}}
		row.add(Rouse, Sample{WallNanos: 1e4})
		row.add(KubeScheduler, Sample{WallNanos: 1e6})
		row.summarise()
		rows = append(rows, row)
	}
	dir := t.TempDir()
	if err := drawFigures(dir, &Report{Rows: rows}); err != nil {
		t.Fatal(err)
	}
	picture, err := os.ReadFile(filepath.Join(dir, "decisions.svg"))
	if err != nil {
		t.Fatal(err)
	}
	if err := xml.Unmarshal(picture, new(struct{})); err != nil {
		t.Errorf("not XML: %v", err)
	}
	// From the left to the right edge of the panel; a hundredth of the time is two of two decades further down.
	for _, want := range []string{`points="52.0,176.0 288.0,176.0"`, `points="52.0,26.0 288.0,26.0"`, "basic, identical", ">50k<"} {
		if !strings.Contains(string(picture), want) {
			t.Errorf("no %s in the picture", want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "events.svg")); err == nil {
		t.Error("there is a picture of what was not measured")
	}
}

func TestPage(t *testing.T) {
	row := Row{Workload: "events", Case: "wakes all", Size: 10, Unit: "pods", Metric: WallNanos, Target: 5, Results: map[Contender]*Result{}}
	row.add(Rouse, Sample{WallNanos: 100, CPUNanos: 100, Allocations: 2})
	row.summarise()
	page := "before\n<!-- bench: events -->\nold\n<!-- end -->\nafter\n<!-- bench: live -->\nold\n<!-- end -->\n"
	got, err := fill(page, &Report{Rows: []Row{row}})
	if err != nil {
		t.Fatal(err)
	}
	want := "before\n<!-- bench: events -->\n" +
		"| case | pods | Rouse | kube-scheduler | ratio | wanted | kube-scheduler, all nodes | spread | allocations |\n" +
		"| --- | --: | --: | --: | --: | --: | --: | --: | --: |\n" +
		"| wakes all | 10 | 100 ns (100 ns) | - | - | 5.00x | - | 0%, - | 2.00, - |\n" +
		"<!-- end -->\nafter\n<!-- bench: live -->\n<!-- end -->\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the page is not as wanted (-want +got):\n%s", diff)
	}
	if _, err := fill("<!-- bench: events -->\n", &Report{}); err == nil {
		t.Error("a place without an end is no error")
	}
}
