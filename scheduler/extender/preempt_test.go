// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package extender_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	configv1 "k8s.io/kube-scheduler/config/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// lister lists some nodes.
type lister struct {
	fwk.NodeInfoLister
	nodes []fwk.NodeInfo
}

func (l lister) Get(name string) (fwk.NodeInfo, error) {
	for _, node := range l.nodes {
		if node.Node().Name == name {
			return node, nil
		}
	}
	return nil, fmt.Errorf("node %q not found in the snapshot", name)
}

func TestPreemptSends(t *testing.T) {
	victims := map[string]*extenderv1.Victims{"a": {Pods: []*v1.Pod{objects.Pod("on-a").Build(), objects.Pod("other").Build()}, NumPDBViolations: 1}}
	tests := []struct {
		name   string
		change func(*configv1.Extender)
		want   extenderv1.ExtenderPreemptionArgs
	}{
		{"pods", func(*configv1.Extender) {}, extenderv1.ExtenderPreemptionArgs{Pod: objects.Pod("p").Build(), NodeNameToVictims: victims}},
		{"UIDs", cached, extenderv1.ExtenderPreemptionArgs{Pod: objects.Pod("p").Build(), NodeNameToMetaVictims: map[string]*extenderv1.MetaVictims{
			"a": {Pods: []*extenderv1.MetaPod{{UID: "default/on-a"}, {UID: "default/other"}}, NumPDBViolations: 1},
		}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server := newService(t, http.StatusOK, "{}")
			if _, err := newExtender(t, server.URL, tt.change).ProcessPreemption(objects.Pod("p").Build(), victims, lister{}); err != nil {
				t.Fatal(err)
			}
			var got extenderv1.ExtenderPreemptionArgs
			server.sent(t, "/scheduler/preempt", &got)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("arguments (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPreemptAnswers(t *testing.T) {
	tests := []struct {
		name, answer string
		want         map[string]*extenderv1.Victims
		err          string
	}{
		{
			name:   "fewer nodes, other victims",
			answer: `{"NodeNameToMetaVictims": {"b": {"Pods": [{"UID": "default/on-b"}], "NumPDBViolations": 2}}}`,
			want:   map[string]*extenderv1.Victims{"b": {Pods: []*v1.Pod{objects.Pod("on-b").Build()}, NumPDBViolations: 2}},
		},
		{name: "no node", answer: `{"NodeNameToMetaVictims": {}}`, want: map[string]*extenderv1.Victims{}},
		{name: "nothing", answer: `{}`, want: map[string]*extenderv1.Victims{}},
		{
			name: "no victims", answer: `{"NodeNameToMetaVictims": {"a": null, "b": {}}}`,
			want: map[string]*extenderv1.Victims{"a": nil, "b": {}},
		},
		{
			name: "a pod of another node", answer: `{"NodeNameToMetaVictims": {"a": {"Pods": [{"UID": "default/on-b"}]}}}`,
			err: "claims to preempt pod (UID: default/on-b) on node: a, but the pod is not found on that node",
		},
		{name: "a pod without UID", answer: `{"NodeNameToMetaVictims": {"a": {"Pods": [null]}}}`, err: "a pod without a UID on node: a"},
		{name: "an unknown node", answer: `{"NodeNameToMetaVictims": {"z": {"Pods": []}}}`, err: "claims to preempt pods on node: z"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server := newService(t, http.StatusOK, tt.answer)
			victims := map[string]*extenderv1.Victims{"a": {Pods: []*v1.Pod{objects.Pod("on-a").Build()}}}
			got, err := newExtender(t, server.URL).ProcessPreemption(objects.Pod("p").Build(), victims, lister{nodes: makeNodes("a", "b")})
			if tt.err != "" {
				wantError(t, err, server.URL, tt.err)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("victims (-want +got):\n%s", diff)
			}
		})
	}
}
