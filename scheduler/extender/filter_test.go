// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package extender_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	v1 "k8s.io/api/core/v1"
	configv1 "k8s.io/kube-scheduler/config/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

func TestFilterSends(t *testing.T) {
	tests := []struct {
		name   string
		change func(*configv1.Extender)
		want   extenderv1.ExtenderArgs
	}{
		{
			name: "nodes", change: func(*configv1.Extender) {},
			want: extenderv1.ExtenderArgs{Pod: objects.Pod("p").Build(), Nodes: &v1.NodeList{Items: []v1.Node{*inRack("a"), *inRack("b")}}},
		},
		{name: "names", change: cached, want: extenderv1.ExtenderArgs{Pod: objects.Pod("p").Build(), NodeNames: &[]string{"a", "b"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, verb := range []string{"filter", "prioritize"} {
				answer := map[string]string{"filter": "{}", "prioritize": "[]"}[verb]
				server := newService(t, http.StatusOK, answer)
				e := newExtender(t, server.URL, tt.change)
				var err error
				if verb == "filter" {
					_, _, _, err = e.Filter(objects.Pod("p").Build(), makeNodes("a", "b"))
				} else {
					_, _, err = e.Prioritize(objects.Pod("p").Build(), makeNodes("a", "b"))
				}
				if err != nil {
					t.Fatal(err)
				}
				var got extenderv1.ExtenderArgs
				server.sent(t, "/scheduler/"+verb, &got)
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("arguments of %s (-want +got):\n%s", verb, diff)
				}
			}
		})
	}
}

func TestFilterAnswers(t *testing.T) {
	const (
		namesBC = `"NodeNames": ["c", "b"]`
		nodesBC = `"Nodes": {"items": [{"metadata": {"name": "c"}}, {"metadata": {"name": "b"}}]}`
	)
	tests := []struct {
		name, answer         string
		kept                 []string // in both modes, unless keptCached is set
		keptCached           []string
		failed, unresolvable extenderv1.FailedNodesMap
		err                  string
	}{
		{name: "names", answer: `{` + namesBC + `}`, kept: []string{"c", "b"}},
		{name: "nodes", answer: `{` + nodesBC + `}`, kept: []string{"c", "b"}},
		{
			name: "both: the form of the question counts", answer: `{"NodeNames": ["a"], ` + nodesBC + `}`,
			kept: []string{"c", "b"}, keptCached: []string{"a"},
		},
		{name: "in lower case", answer: `{"nodenames": ["c"], "failednodes": {"a": "full"}}`, kept: []string{"c"}, failed: extenderv1.FailedNodesMap{"a": "full"}},
		{name: "a node twice", answer: `{"NodeNames": ["b", "b"]}`, kept: []string{"b"}},
		{name: "no names", answer: `{"NodeNames": []}`},
		{name: "nothing at all", answer: `{}`},
		{name: "null", answer: `null`},
		{
			name: "with reasons", answer: `{` + namesBC + `, "FailedNodes": {"a": "full"}, "FailedAndUnresolvableNodes": {"z": "never"}}`,
			kept: []string{"c", "b"}, failed: extenderv1.FailedNodesMap{"a": "full"}, unresolvable: extenderv1.FailedNodesMap{"z": "never"},
		},
		{
			name: "a name that was not asked about", answer: `{"NodeNames": ["b", "z"]}`,
			err: `claims a filtered node "z" which is not found in the input node list`,
		},
		{
			name: "a node that was not asked about", answer: `{"Nodes": {"items": [{"metadata": {"name": "z"}}]}}`,
			err: `claims a filtered node "z" which is not found in the input node list`,
		},
		{name: "an error", answer: `{"NodeNames": ["b"], "Error": "no database"}`, err: "/scheduler/filter answered with an error: no database"},
	}
	for _, tt := range tests {
		for _, mode := range []string{"nodes are sent", "names are sent"} {
			t.Run(tt.name+"/"+mode, func(t *testing.T) {
				change, want := func(*configv1.Extender) {}, tt.kept
				if mode == "names are sent" {
					change = cached
					if tt.keptCached != nil {
						want = tt.keptCached
					}
				}
				server := newService(t, http.StatusOK, tt.answer)
				nodes := makeNodes("a", "b", "c")
				kept, failed, unresolvable, err := newExtender(t, server.URL, change).Filter(objects.Pod("p").Build(), nodes)
				if tt.err != "" {
					wantError(t, err, server.URL, tt.err)
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, namesOf(kept)); diff != "" {
					t.Errorf("nodes (-want +got):\n%s", diff)
				}
				for _, node := range kept {
					// Scores are computed from the pods of a node, so it must be the one that was given.
					if len(node.GetPods()) != 1 || node.Node().Labels["rack"] != "r1" {
						t.Errorf("node %s is another one than was given", node.Node().Name)
					}
				}
				if diff := cmp.Diff(tt.failed, failed, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("failed nodes (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(tt.unresolvable, unresolvable, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("unresolvable nodes (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func TestWithoutVerbs(t *testing.T) {
	server := newService(t, http.StatusOK, "{}")
	e := newExtender(t, server.URL, withoutVerbs)
	if e.IsFilter() || e.IsPrioritizer() || e.IsBinder() || e.SupportsPreemption() {
		t.Error("the extender says that it has verbs")
	}
	kept, _, _, err := e.Filter(objects.Pod("p").Build(), makeNodes("a", "b"))
	if diff := cmp.Diff([]string{"a", "b"}, namesOf(kept)); err != nil || diff != "" {
		t.Errorf("error %v, nodes (-want +got):\n%s", err, diff)
	}
	scores, weight, err := e.Prioritize(objects.Pod("p").Build(), makeNodes("a", "b"))
	if err != nil || weight != 0 {
		t.Errorf("weight %d, error %v; want zero and none", weight, err)
	}
	if diff := cmp.Diff(&extenderv1.HostPriorityList{{Host: "a"}, {Host: "b"}}, scores); diff != "" {
		t.Errorf("scores (-want +got):\n%s", diff)
	}
	wantError(t, e.Bind(&v1.Binding{}), server.URL, "no bindVerb")
	_, err = e.ProcessPreemption(objects.Pod("p").Build(), nil, nil)
	wantError(t, err, server.URL, "no preemptVerb")
	if len(server.requests) > 0 {
		t.Errorf("got requests %v, want none", server.requests)
	}
}
