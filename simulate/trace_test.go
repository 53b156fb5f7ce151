// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/simulate"
)

const everything = `
{apiVersion: rouse/v1alpha1, kind: Scenario, spec: {steps: [
{at: 10s, patch: {apiVersion: v1, kind: Node, metadata: {name: n1, labels: {zone: z}}}},
{at: 11s, patch: {apiVersion: v1, kind: Node, metadata: {name: n1, labels: {zone: x}}}},
{at: 20s, patch: {apiVersion: v1, kind: Node, metadata: {name: n1, labels: {disk: ssd}}}},
{at: 30s, patch: {apiVersion: v1, kind: Pod, metadata: {name: c}, spec: {schedulingGates: null}}},
{at: 40s, delete: {apiVersion: v1, kind: Pod, metadata: {name: b}}},
]}}`

func TestTraceHasEverythingThatHappened(t *testing.T) {
	var streamed []string
	report := run(t, documents(node("n1", ""), pod("a", "1", ", nodeSelector: {disk: ssd}"), pod("b", "1", ""),
		pod("c", "1", ", schedulingGates: [{name: g}]"), everything),
		simulate.Options{Trace: true, Observer: func(entry simulate.TraceEntry) { streamed = append(streamed, entry.String()) }})
	want := []string{
		"0s        rejected  default/c by SchedulingGates: plugin SchedulingGates does not let the pod be tried yet: waiting for scheduling gates: [g]",
		"0s        attempt   default/a",
		"0s        rejected  default/a by NodeAffinity: 0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector. " +
			"preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.",
		"0s        attempt   default/b",
		"0s        bound     default/b on n1",
		"10s       skipped   default/a by NodeUpdateNodeLabel (NodeAffinity)",
		"20s       woken     default/a by NodeUpdateNodeLabel (NodeAffinity) to active",
		"20s       attempt   default/a",
		"20s       bound     default/a on n1",
		"30s       woken     default/c by TargetPodUpdatePodSchedulingGatesEliminated (SchedulingGates) to active",
		"30s       attempt   default/c",
		"30s       bound     default/c on n1",
		"40s       deleted   default/b on n1",
	}
	if diff := cmp.Diff(want, streamed); diff != "" {
		t.Errorf("streamed lines differ (-want +got):\n%s", diff)
	}
	var kept []string
	for _, entry := range report.Trace {
		kept = append(kept, entry.String())
	}
	if diff := cmp.Diff(streamed, kept); diff != "" {
		t.Errorf("the report has another trace than the observer saw (-observer +report):\n%s", diff)
	}
}

func TestTraceIsLeftOutUnlessAskedFor(t *testing.T) {
	calls := 0
	report := run(t, documents(node("n1", ""), pod("a", "1", "")), simulate.Options{Observer: func(simulate.TraceEntry) { calls++ }})
	if report.Trace != nil || calls == 0 {
		t.Errorf("got %d entries in the report and %d calls of the observer, want none and some", len(report.Trace), calls)
	}
	data, err := json.Marshal(report)
	if err != nil || strings.Contains(string(data), `"trace"`) {
		t.Errorf("got %s (%v), want no trace", data, err)
	}
}

func TestReportAsJSON(t *testing.T) {
	report := run(t, documents(node("n1", ""), pod("a", "8", ", nodeSelector: {disk: ssd}"), scenario("{at: 12500ms, create: "+pod("b", "1", "")+"}")),
		simulate.Options{Trace: true})
	want := `{
 "profiles": [
  "default-scheduler"
 ],
 "summary": {
  "nodes": 1,
  "pods": 2,
  "bound": 1,
  "unschedulable": 1,
  "gated": 0,
  "preempted": 0,
  "attempts": 2,
  "wasted": 0,
  "wakeups": 0,
  "events": 3,
  "virtualSeconds": 12.5,
  "wallSeconds": 0
 },
 "pods": [
  {
   "namespace": "default",
   "name": "a",
   "node": "",
   "pool": "unschedulable",
   "attempts": 1,
   "rejectedBy": [
    "NodeAffinity"
   ],
   "boundAt": "",
   "message": "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector. preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
  },
  {
   "namespace": "default",
   "name": "b",
   "node": "n1",
   "pool": "bound",
   "attempts": 1,
   "rejectedBy": [],
   "boundAt": "12.5s",
   "message": ""
  }
 ],
 "trace": [
  {
   "at": "0s",
   "pod": "default/a",
   "what": "attempt"
  },
  {
   "at": "0s",
   "pod": "default/a",
   "what": "rejected",
   "plugin": "NodeAffinity",
   "message": "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector. preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
  },
  {
   "at": "12.5s",
   "pod": "default/b",
   "what": "attempt"
  },
  {
   "at": "12.5s",
   "pod": "default/b",
   "what": "bound",
   "node": "n1"
  }
 ]
}`
	got := encode(t, report)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("JSON differs (-want +got):\n%s", diff)
	}
	var decoded simulate.Report
	if err := json.Unmarshal([]byte(got), &decoded); err != nil {
		t.Fatalf("decoding the report: %v", err)
	}
	if diff := cmp.Diff(got, encode(t, &decoded)); diff != "" {
		t.Errorf("the report does not survive encoding and decoding (-before +after):\n%s", diff)
	}
}

// preemptor makes room by deleting the pod with the name victim.
type preemptor struct{ handle fwk.Handle }

func (p *preemptor) Name() string { return "Test" }

func (p *preemptor) PostFilter(ctx context.Context, _ fwk.CycleState, pod *v1.Pod, _ fwk.NodeToStatusReader) (*fwk.PostFilterResult, *fwk.Status) {
	pods := p.handle.ClientSet().CoreV1().Pods(pod.Namespace)
	patch := `{"status": {"conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler", "message": "preempting to accommodate a pod"}]}}`
	if _, err := pods.Patch(ctx, "victim", types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "status"); err != nil {
		return nil, fwk.AsStatus(err)
	}
	if err := pods.Delete(ctx, "victim", metav1.DeleteOptions{}); err != nil {
		return nil, fwk.AsStatus(err)
	}
	return &fwk.PostFilterResult{NominatingInfo: &fwk.NominatingInfo{NominatedNodeName: "n1", NominatingMode: fwk.ModeOverride}}, nil
}

func TestTraceOfAPreemption(t *testing.T) {
	options := withPlugin(t, "Test", func(handle fwk.Handle) fwk.Plugin { return &preemptor{handle} })
	report := run(t, documents(node("n1", ""), pod("victim", "4", ", nodeName: n1"), pod("urgent", "4", "")), options)
	if got := trace(report, simulate.WhatPreempted); len(got) != 1 || got[0] != "0s        preempted default/victim on n1: preempting to accommodate a pod" {
		t.Errorf("got %q, want the victim", got)
	}
	if got := report.Summary; got.Preempted != 1 || got.Bound != 1 {
		t.Errorf("got %+v, want one pod preempted and one bound", got)
	}
	if got := states(report)["default/urgent"]; got.Node != "n1" || got.Attempts != 2 {
		t.Errorf("got %+v, want the pod on n1 in the second attempt", got)
	}
	if got := states(report)["default/victim"].Pool; got != simulate.PoolDeleted {
		t.Errorf("the victim is in pool %s, want deleted", got)
	}
}
