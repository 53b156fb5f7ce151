// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"slices"
	"strings"
	"testing"

	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/inspect"
	"github.com/rouse-scheduler/rouse/simulate"
)

// crowdedOut has a pod that takes the node of two others, one of which takes its time to go, and one that must wait for it.
func crowdedOut() string {
	return documents(node("n1", ""),
		"{apiVersion: v1, kind: Pod, metadata: {name: slow, namespace: default, finalizers: [example.com/hold]}, spec: {nodeName: n1, priority: 1, containers: [{name: c, image: i, resources: {requests: {cpu: 2}}}]}}",
		pod("quick", "1", ", nodeName: n1, priority: 1"),
		pod("important", "4", ", priority: 100"),
		pod("modest", "1", ", priority: 1"))
}

func TestExplainPreemption(t *testing.T) {
	tests := map[string]struct {
		check func(*inspect.Explanation) bool
	}{
		"important": {
			check: func(e *inspect.Explanation) bool {
				return e.NominatedNode == "n1" && e.PostFilter != "" && !e.Preempted
			},
		},
		"slow": {
			check: func(e *inspect.Explanation) bool {
				return e.Terminating && e.Preempted && slices.Equal(e.PreemptedFor, []string{"default/important"})
			},
		},
		"modest": {
			check: func(e *inspect.Explanation) bool {
				return e.NominatedNode == "" && e.PostFilter != "" &&
					strings.HasSuffix(e.Nodes[0].Blockers[0].Reason, "(room is kept for default/important)")
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			options := simulate.Options{}
			explainer := inspect.NewExplainer(t.Context(), "default", name)
			explanation := explainedAt(t, explainer, options, crowdedOut())
			if !test.check(explanation) {
				t.Errorf("the explanation is %+v", explanation)
			}
			golden(t, "explain_preemption_"+name+".json", explanation)
		})
	}
}

// explainedAt explains the pod of an explainer at the end of an input.
func explainedAt(t *testing.T, explainer *inspect.Explainer, options simulate.Options, input string) *inspect.Explanation {
	t.Helper()
	parsed, err := simulate.Parse("input.yaml", []byte(input))
	if err != nil {
		t.Fatal(err)
	}
	explainer.Observe(&options)
	cluster, err := simulate.NewCluster(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	explainer.Watch(cluster)
	if err := cluster.Replay(parsed); err != nil {
		t.Fatal(err)
	}
	explanation, err := explainer.Explain(3)
	if err != nil {
		t.Fatal(err)
	}
	return explanation
}

// TestExplainHeadlines is about what decides which headline a person reads.
func TestExplainHeadlines(t *testing.T) {
	finished := func(phase string) string {
		return "{apiVersion: v1, kind: Pod, metadata: {name: web, namespace: default}, spec: {nodeName: n1, containers: [{name: c, image: i}]}, status: {phase: " + phase + "}}"
	}
	deaf := &scripted{name: "Rack", accepts: wantsLabel("rack"), events: []fwk.ClusterEventWithHint{on(fwk.Node, fwk.Add, nil)}}
	tests := map[string]struct {
		input   string
		plugins []*scripted
		check   func(*inspect.Explanation) bool
	}{
		"a gated pod is not tried by itself": {
			documents(node("n1", ""), pod("web", "1", ", schedulingGates: [{name: g}]")), nil,
			func(e *inspect.Explanation) bool { return e.Pool == simulate.PoolGated && e.TriedAgainAt == "" },
		},
		"a missed wake-up": {
			documents(node("n1", ""), pod("web", "1", ""), scenario(patchNode("10s", "n1", "labels: {rack: r7}"))),
			[]*scripted{deaf}, func(e *inspect.Explanation) bool { return e.MissedWakeup },
		},
		"a pod that waits with reason": {
			documents(node("n1", ""), pod("web", "1", "")), []*scripted{deaf},
			func(e *inspect.Explanation) bool { return e.Pool == simulate.PoolUnschedulable && !e.MissedWakeup },
		},
		"a pod that succeeded": {
			documents(node("n1", ""), finished("Succeeded")), nil,
			func(e *inspect.Explanation) bool { return e.Phase == "Succeeded" && e.Node == "n1" },
		},
		"a pod that failed": {
			documents(node("n1", ""), finished("Failed")), nil, func(e *inspect.Explanation) bool { return e.Phase == "Failed" },
		},
		"a pod that finishes": {
			documents(node("n1", ""), pod("web", "1", ""), scenario("{at: 10s, patch: {apiVersion: v1, kind: Pod, metadata: {name: web}, status: {phase: Succeeded}}}")),
			nil, func(e *inspect.Explanation) bool { return e.Phase == "Succeeded" && e.Node == "n1" },
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			explanation := explainedAt(t, inspect.NewExplainer(t.Context(), "default", "web"), withPlugins(t, test.plugins...), test.input)
			if !test.check(explanation) {
				t.Errorf("the explanation is %+v", explanation)
			}
			golden(t, "explain_"+strings.NewReplacer(" ", "_", "-", "_").Replace(name)+".json", explanation)
		})
	}
}
