// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
