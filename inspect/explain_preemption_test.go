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
		wants, lacks []string
		check        func(*inspect.Explanation) bool
	}{
		"important": {
			wants: []string{"It is nominated for node n1, where room is kept for it.", "Room is made on node n1: "},
			lacks: []string{"Nor could room be made"},
			check: func(e *inspect.Explanation) bool { return e.NominatedNode == "n1" && !e.Preempted },
		},
		"slow": {
			wants: []string{"is on node n1, and is being deleted to make room for default/important"},
			check: func(e *inspect.Explanation) bool {
				return e.Terminating && e.Preempted && slices.Equal(e.PreemptedFor, []string{"default/important"})
			},
		},
		"modest": {
			wants: []string{"Nor could room be made: ", "(room is kept for default/important)"},
			check: func(e *inspect.Explanation) bool { return e.NominatedNode == "" },
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
			written := wrote(t, explanation)
			for _, want := range test.wants {
				if !strings.Contains(written, want) {
					t.Errorf("%q is not in\n%s", want, written)
				}
			}
			for _, lack := range test.lacks {
				if strings.Contains(written, lack) {
					t.Errorf("%q is in\n%s", lack, written)
				}
			}
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

// TestExplainHeadlines is about what the first lines must and must not say.
func TestExplainHeadlines(t *testing.T) {
	finished := func(phase string) string {
		return "{apiVersion: v1, kind: Pod, metadata: {name: web, namespace: default}, spec: {nodeName: n1, containers: [{name: c, image: i}]}, status: {phase: " + phase + "}}"
	}
	deaf := &scripted{name: "Rack", accepts: wantsLabel("rack"), events: []fwk.ClusterEventWithHint{on(fwk.Node, fwk.Add, nil)}}
	tests := map[string]struct {
		input   string
		plugins []*scripted
		want    string
		lacks   string
	}{
		"a gated pod is not tried by itself": {
			documents(node("n1", ""), pod("web", "1", ", schedulingGates: [{name: g}]")), nil, "is gated", "tried again at",
		},
		"a missed wake-up": {
			documents(node("n1", ""), pod("web", "1", ""), scenario(patchNode("10s", "n1", "labels: {rack: r7}"))),
			[]*scripted{deaf}, "Pod default/web missed a wake-up: a node would take it, and no event woke it.", "waits for an event",
		},
		"a pod that waits with reason": {
			documents(node("n1", ""), pod("web", "1", "")), []*scripted{deaf}, "waits for an event", "missed a wake-up",
		},
		"a pod that succeeded": {documents(node("n1", ""), finished("Succeeded")), nil, "Pod default/web has finished (Succeeded), and takes nothing from node n1 any more", "never"},
		"a pod that failed":    {documents(node("n1", ""), finished("Failed")), nil, "has finished (Failed)", "is gone"},
		"a pod that finishes": {
			documents(node("n1", ""), pod("web", "1", ""), scenario("{at: 10s, patch: {apiVersion: v1, kind: Pod, metadata: {name: web}, status: {phase: Succeeded}}}")),
			nil, "has finished (Succeeded)", "is gone",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			explanation := explainedAt(t, inspect.NewExplainer(t.Context(), "default", "web"), withPlugins(t, test.plugins...), test.input)
			written := wrote(t, explanation)
			headline, _, _ := strings.Cut(written, "\n\n")
			if !strings.Contains(headline, test.want) || strings.Contains(headline, test.lacks) {
				t.Errorf("want %q and not %q in\n%s", test.want, test.lacks, written)
			}
		})
	}
}

// wrote returns the text of an explanation.
func wrote(t *testing.T, explanation *inspect.Explanation) string {
	t.Helper()
	var b strings.Builder
	if err := explanation.WriteText(&b, inspect.Style{}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
