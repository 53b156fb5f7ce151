// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rouse-scheduler/rouse/simulate"
)

// busyCluster is a cluster that is too small at times: pods of all sizes come and go, and nodes change.
func busyCluster(seed uint64, nodes, pods int) string {
	random := rand.New(rand.NewPCG(seed, 1))
	pick := func(choices ...string) string { return choices[random.IntN(len(choices))] }
	var parts, steps []string
	for i := range nodes {
		parts = append(parts, node(fmt.Sprintf("n%d", i), fmt.Sprintf(", labels: {disk: %s, zone: z%d}", pick("ssd", "hdd"), i%3)))
	}
	for i := range pods {
		rest := pick("", "", ", nodeSelector: {disk: ssd}", ", nodeSelector: {disk: nvme}", ", priority: 5", ", schedulingGates: [{name: g}]")
		created := pod(fmt.Sprintf("p%d", i), pick("250m", "1", "2", "3"), rest)
		steps = append(steps, fmt.Sprintf("{at: %dms, create: %s}", 100*i, created))
		switch random.IntN(6) {
		case 0, 1, 2:
			steps = append(steps, fmt.Sprintf("{at: %dms, delete: {apiVersion: v1, kind: Pod, metadata: {name: p%d}}}", 100*i, random.IntN(i+1)))
		case 3:
			steps = append(steps, fmt.Sprintf("{at: %dms, patch: {apiVersion: v1, kind: Node, metadata: {name: n%d, labels: {disk: %s}}}}",
				100*i, random.IntN(nodes), pick("ssd", "hdd", "nvme")))
		case 4:
			steps = append(steps, fmt.Sprintf("{at: %dms, patch: {apiVersion: v1, kind: Pod, metadata: {name: p%d}, spec: {schedulingGates: null}}}",
				100*i, random.IntN(i+1)))
		}
	}
	return documents(strings.Join(parts, "\n---\n"), scenario(steps...))
}

func TestSameInputSameResult(t *testing.T) {
	for seed := range uint64(3) {
		text := busyCluster(seed, 12, 150)
		var encoded []string
		for range 2 {
			report := run(t, text, simulate.Options{Trace: true, Seed: 42})
			if report.Summary.Wakeups == 0 || report.Summary.Bound == 0 || report.Summary.Wasted == 0 {
				t.Errorf("the simulation is too quiet to prove anything: %+v", report.Summary)
			}
			encoded = append(encoded, encode(t, report))
		}
		if diff := cmp.Diff(encoded[0], encoded[1]); diff != "" {
			t.Errorf("seed %d: the runs differ (-first +second):\n%s", seed, diff)
		}
	}
}

// TestCountsAgree compares the summary with the pods and the trace of the same report.
func TestCountsAgree(t *testing.T) {
	report := run(t, busyCluster(7, 12, 150), simulate.Options{Trace: true})
	got := report.Summary
	want := simulate.Summary{
		Nodes: 12, Pods: len(report.Pods), Events: got.Events, VirtualSeconds: got.VirtualSeconds, WallSeconds: got.WallSeconds,
	}
	for _, state := range report.Pods {
		want.Attempts += state.Attempts
		switch state.Pool {
		case simulate.PoolBound:
			want.Bound++
		case simulate.PoolUnschedulable:
			want.Unschedulable++
		case simulate.PoolGated:
			want.Gated++
		}
		if (state.Pool == simulate.PoolBound) != (state.Node != "") && state.Pool != simulate.PoolDeleted {
			t.Errorf("pod %s is in pool %s with node %q", state.Name, state.Pool, state.Node)
		}
	}
	attempts, rejections := 0, make(map[string]int)
	for _, entry := range report.Trace {
		switch entry.What {
		case simulate.WhatWoken:
			want.Wakeups++
		case simulate.WhatAttempt:
			attempts++
		case simulate.WhatPreempted:
			want.Preempted++
		case simulate.WhatRejected:
			if entry.Plugin != "SchedulingGates" {
				rejections[entry.Pod]++
			}
		}
	}
	for _, count := range rejections {
		want.Wasted += count - 1
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the summary differs from what it sums up (-want +got):\n%s", diff)
	}
	if attempts != got.Attempts {
		t.Errorf("the trace has %d attempts, the summary %d", attempts, got.Attempts)
	}
}
