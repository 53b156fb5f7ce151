// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/inspect"
	"github.com/rouse-scheduler/rouse/simulate"
)

// crowded is a cluster in which the pod web waits for several reasons, and hears of several events.
func crowded() string {
	return documents(
		"{apiVersion: v1, kind: Node, metadata: {name: batch, labels: {disk: ssd}}, spec: {taints: [{key: dedicated, value: batch, effect: NoSchedule}]}, status: {allocatable: {cpu: 8, memory: 16Gi, pods: 110}}}",
		"{apiVersion: v1, kind: Node, metadata: {name: closed, labels: {disk: ssd}}, spec: {unschedulable: true, taints: [{key: a, effect: NoSchedule}, {key: b, effect: NoExecute}]}, status: {allocatable: {cpu: 1, memory: 1Gi, pods: 0}}}",
		node("n1", ", labels: {disk: hdd}"), node("n2", ", labels: {disk: ssd}"),
		pod("filler", "3500m", ", nodeName: n2"),
		"{apiVersion: v1, kind: Pod, metadata: {name: web, namespace: default}, spec: {nodeSelector: {disk: ssd}, containers: [{name: c, image: i, resources: {requests: {cpu: 2, memory: 2Gi}}}]}}",
		pod("small", "250m", ", nodeName: n2"),
		scenario(
			patchNode("10s", "n1", "labels: {rack: r7}"),
			deletePod("20s", "small"),
			patchNode("25s", "n1", "annotations: {note: irrelevant}"),
			patchNode("1h", "n1", "labels: {disk: ssd}"),
		),
	)
}

func TestExplainWaitingPod(t *testing.T) {
	cluster := explainedCluster(t, simulate.Options{})
	input, err := simulate.Parse("input.yaml", []byte(crowded()))
	if err != nil {
		t.Fatal(err)
	}
	if err := cluster.ReplayUntil(input, simulate.Time(30*time.Second)); err != nil {
		t.Fatal(err)
	}
	explanation := cluster.explain(t, inspect.DefaultNodes)
	golden(t, "explain_waiting.json", explanation)
	golden(t, "explain_waiting_without_nodes.json", cluster.explain(t, 0))
	if all := cluster.explain(t, 100); len(all.Nodes) != 4 || all.AllNodes != 4 {
		t.Errorf("asked for 100 nodes, the explanation has %d of %d, want all 4", len(all.Nodes), all.AllNodes)
	}
}

// TestExplainStates has the pod everywhere it can be.
func TestExplainStates(t *testing.T) {
	hesitant := &scripted{name: "Hesitant", permit: func(pod *v1.Pod) *fwk.Status {
		if pod.Labels["hesitate"] != "" {
			return fwk.NewStatus(fwk.Wait)
		}
		return nil
	}}
	web := func(metadata, spec string) string {
		return "{apiVersion: v1, kind: Pod, metadata: {name: web, namespace: default" + metadata + "}, spec: {containers: [{name: c, image: i}]" + spec + "}}"
	}
	late := scenario("{at: 10s, create: " + web("", "") + "}")
	gone := scenario("{at: 10s, delete: {apiVersion: v1, kind: Pod, metadata: {name: web}}}")
	tests := map[string]struct {
		cluster string
		until   time.Duration
	}{
		"bound": {
			documents(node("n1", ""), late), time.Minute,
		},
		"bound from the beginning": {
			documents(node("n1", ""), web("", ", nodeName: n1")), time.Minute,
		},
		"woken and bound": {
			documents(node("n1", ""), web("", ", nodeSelector: {a: b}"), scenario(patchNode("20s", "n1", "labels: {a: b}"))), time.Minute,
		},
		"waiting for permission": {
			documents(node("n1", ""), web(", labels: {hesitate: x}", "")), 500 * time.Millisecond,
		},
		"backing off": {
			web("", ""), 500 * time.Millisecond, // there are no nodes at all, which no plugin is to blame for
		},
		"gated": {
			documents(node("n1", ""), web("", ", schedulingGates: [{name: g}]")), time.Second,
		},
		"gone": {
			documents(node("n1", ""), web("", ""), gone), time.Minute,
		},
		"gone without a node": {
			documents(web("", ", schedulingGates: [{name: g}]"), gone), time.Minute,
		},
		"of an unknown profile": {
			documents(node("n1", ""), web("", ", schedulerName: other")), time.Second,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cluster := explainedCluster(t, withPlugins(t, hesitant))
			input, err := simulate.Parse("input.yaml", []byte(test.cluster))
			if err != nil {
				t.Fatal(err)
			}
			if err := cluster.ReplayUntil(input, simulate.Time(test.until)); err != nil {
				t.Fatal(err)
			}
			golden(t, "explain_"+strings.ReplaceAll(name, " ", "_")+".json", cluster.explain(t, 3))
		})
	}
}

func TestExplainUnknownPod(t *testing.T) {
	cluster := explainedCluster(t, simulate.Options{})
	cluster.replay(t, documents(node("n1", ""), pod("wed", "1", "")))
	_, err := cluster.explainer.Explain(3)
	var missing *inspect.NoSuchPodError
	if !errors.As(err, &missing) {
		t.Fatalf("got error %v, want a NoSuchPodError", err)
	}
	if diff := cmp.Diff([]string{"default/wed"}, missing.Pods); diff != "" || err.Error() != "there is no pod default/web at 0s" {
		t.Errorf("got %v with pods %v", err, missing.Pods)
	}
}

// TestExplainQuotesOtherPlugins has a plugin out of the tree that knows things of its own, and waits for nothing.
func TestExplainQuotesOtherPlugins(t *testing.T) {
	strict := &scripted{name: "Strict", accepts: wantsLabel("rack"), reason: "node(s) were in no rack"}
	cluster := explainedCluster(t, withPlugins(t, strict))
	cluster.replay(t, documents(node("n1", ""), pod("web", "5", "")))
	explanation := cluster.explain(t, 1)
	want := []inspect.NodeBlockers{{Name: "n1", BlockerCount: 2, Blockers: []inspect.Blocker{
		{Plugin: "NodeResourcesFit", Reason: "Insufficient cpu", Details: []string{"cpu: asks 5, free 4 of 4"}},
		{Plugin: "Strict", Reason: "node(s) were in no rack", Details: []string{}},
	}}}
	if diff := cmp.Diff(want, explanation.Nodes); diff != "" {
		t.Errorf("nodes differ (-want +got):\n%s", diff)
	}
	// Only the first plugin rejected the pod, so that only its events count.
	if len(explanation.RequeueEvents) != 1 || explanation.RequeueEvents[0].Plugin != "NodeResourcesFit" {
		t.Errorf("wakes are %+v, want those of NodeResourcesFit", explanation.RequeueEvents)
	}
	cluster = explainedCluster(t, withPlugins(t, strict))
	cluster.replay(t, documents(node("n1", ""), pod("web", "1", "")))
	golden(t, "explain_without_events.json", cluster.explain(t, 1))
}

// TestExplainEverywhere has a claim that is not there, which PreFilter finds out.
func TestExplainEverywhere(t *testing.T) {
	cluster := explainedCluster(t, simulate.Options{})
	cluster.replay(t, documents(node("n1", ""), pod("web", "5", volumeOf("missing"))))
	explanation := cluster.explain(t, 1)
	if len(explanation.RejectedBy) != 1 || explanation.RejectedBy[0].Nodes != 1 {
		t.Errorf("rejected by %+v, want one plugin on the only node", explanation.RejectedBy)
	}
	if len(explanation.Everywhere) == 0 || !strings.Contains(explanation.Everywhere[0].Reason, `"missing" not found`) {
		t.Errorf("blockers on every node are %+v, want the claim that is missing", explanation.Everywhere)
	}
	if nodes := explanation.Nodes; len(nodes) != 1 || !slices.Contains(nodes[0].Blockers[0].Details, "cpu: asks 5, free 4 of 4") {
		t.Errorf("nodes are %+v, want the CPU that is missing besides", nodes)
	}
	golden(t, "explain_everywhere.json", explanation)
}

// TestExplainNodesLeftOutByPreFilter has PreFilter leave one node, the only one for which Filter plugins are called.
func TestExplainNodesLeftOutByPreFilter(t *testing.T) {
	cluster := explainedCluster(t, simulate.Options{})
	cluster.replay(t, documents(node("n1", ""), node("n2", ""), node("n3", ""), pod("web", "5", ", affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "+
		"{nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [n1]}]}]}}}")))
	nodes := map[string]int{}
	for _, rejection := range cluster.explain(t, 3).RejectedBy {
		nodes[rejection.Plugin] = rejection.Nodes
	}
	if diff := cmp.Diff(map[string]int{"NodeAffinity": 2, "NodeResourcesFit": 1}, nodes); diff != "" {
		t.Errorf("nodes by plugin differ (-want +got):\n%s", diff)
	}
}

// TestExplainKeptRoom has a node that would take the pod if room were not kept there for another.
func TestExplainKeptRoom(t *testing.T) {
	cluster := explainedCluster(t, simulate.Options{})
	cluster.replay(t, documents(node("n1", ""), pod("web", "2", ""),
		"{apiVersion: v1, kind: Pod, metadata: {name: first, namespace: default}, status: {nominatedNodeName: n1}, "+
			"spec: {priority: 100, schedulingGates: [{name: g}], containers: [{name: c, image: i, resources: {requests: {cpu: 3}}}]}}"))
	want := []inspect.Blocker{{
		Plugin: "NodeResourcesFit", Reason: "Insufficient cpu (room is kept for default/first)",
		Details: []string{"cpu: asks 2, free 1 of 4 (room is kept for default/first)"},
	}}
	explanation := cluster.explain(t, 1)
	if len(explanation.Nodes) != 1 || explanation.Pool != simulate.PoolUnschedulable {
		t.Fatalf("the explanation is %+v, want the pod to wait", explanation)
	}
	if diff := cmp.Diff(want, explanation.Nodes[0].Blockers); diff != "" {
		t.Errorf("blockers differ (-want +got):\n%s", diff)
	}
}

// TestExplainRememberedEvents has more events than are remembered, and then another pod of the name.
func TestExplainRememberedEvents(t *testing.T) {
	steps := make([]string, 0, 30)
	for i := range 30 {
		steps = append(steps, patchNode(fmt.Sprintf("%ds", i+1), "n1", fmt.Sprintf("labels: {count: '%d'}", i)))
	}
	cluster := explainedCluster(t, simulate.Options{})
	cluster.replay(t, documents(node("n1", ""), pod("web", "1", ", nodeSelector: {a: b}"), scenario(steps...)))
	events := cluster.explain(t, 0).RecentEvents
	want := inspect.RecentEvent{At: "30s", Event: "NodeUpdateNodeLabel", Object: "Node n1", Plugin: "NodeAffinity", Answer: inspect.AnswerSkip}
	if len(events) != 20 || events[19] != want || events[0].At != "11s" {
		t.Errorf("%d events are remembered, the first is %+v and the last %+v; want the last 20", len(events), events[0], events[19])
	}
	cluster.replay(t, scenario(
		"{at: 1s, delete: {apiVersion: v1, kind: Pod, metadata: {name: web}}}",
		"{at: 2s, create: "+pod("web", "1", ", nodeSelector: {c: d}")+"}",
		patchNode("3s", "n1", "labels: {count: x}"),
	))
	if events = cluster.explain(t, 0).RecentEvents; len(events) != 1 {
		t.Errorf("recent events of the second pod are %+v, want one event", events)
	}
}

// TestExplainFlush has a pod that was tried again because it waited too long.
func TestExplainFlush(t *testing.T) {
	cluster := explainedCluster(t, simulate.Options{})
	cluster.replay(t, documents(node("n1", ""), pod("web", "1", ", nodeSelector: {a: b}"), scenario(patchNode("6m", "n1", "annotations: {a: b}"))))
	want := []inspect.RecentEvent{{At: "5m0s", Event: "UnschedulableTimeout", Answer: inspect.AnswerQueue}}
	if diff := cmp.Diff(want, cluster.explain(t, 0).RecentEvents); diff != "" {
		t.Errorf("recent events differ (-want +got):\n%s", diff)
	}
}
