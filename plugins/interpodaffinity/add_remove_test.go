// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package interpodaffinity

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

func TestAddAndRemovePod(t *testing.T) {
	existing := objects.Pod("e").Label("app", "db").Build()
	tests := []struct {
		name   string
		pod    *v1.Pod
		nodes  []*framework.NodeInfo
		remove bool
		other  *v1.Pod
		on     int
		want   string
	}{
		{name: "AddPod meets affinity", pod: objects.Pod("p").Label("app", "web").With(to(term("zone", "db"))).Build(), nodes: nodes(existing), other: objects.Pod("f").Label("app", "db").Build(), on: 1, want: "n1=ok n2=ok"},
		{name: "RemovePod takes affinity away", pod: objects.Pod("p").Label("app", "web").With(to(term("zone", "db"))).Build(), nodes: nodes(existing), remove: true, other: existing, want: "n1=affinity n2=affinity"},
		{name: "AddPod that matches only one of two terms", pod: objects.Pod("p").Label("app", "web").With(to(term("zone", "db"), term("zone", "x"))).Build(), nodes: nodes(), other: objects.Pod("f").Label("app", "db").Build(), want: "n1=affinity n2=affinity"},
		{name: "AddPod ends being the first", pod: objects.Pod("p").Label("app", "web").With(to(term("zone", "web"))).Build(), nodes: nodes(), other: objects.Pod("f").Label("app", "web").Build(), on: 1, want: "n1=affinity n2=ok"},
		{name: "RemovePod makes it the first", pod: objects.Pod("p").Label("app", "web").With(to(term("zone", "web"))).Build(), nodes: nodes(objects.Pod("e").Label("app", "web").Build()), remove: true, other: objects.Pod("e").Label("app", "web").Build(), want: "n1=ok n2=ok"},
		{name: "AddPod in the way", pod: objects.Pod("p").Label("app", "web").With(from(term("zone", "db"))).Build(), nodes: nodes(existing), other: objects.Pod("f").Label("app", "db").Build(), on: 1, want: "n1=anti n2=anti"},
		{name: "RemovePod out of the way", pod: objects.Pod("p").Label("app", "web").With(from(term("zone", "db"))).Build(), nodes: nodes(existing), remove: true, other: existing, want: "n1=ok n2=ok"},
		{name: "RemovePod of one of two in the way", pod: objects.Pod("p").Label("app", "web").With(from(term("zone", "db"))).Build(), nodes: nodes(existing, objects.Pod("f").Label("app", "db").Build()), remove: true, other: existing, want: "n1=anti n2=ok"},
		{name: "RemovePod of one of two in the way, each of a term", pod: objects.Pod("p").Label("app", "web").With(from(term("zone", "db"), term("zone", "x"))).Build(), nodes: nodes(existing, objects.Pod("f").Label("app", "x").Build()), remove: true, other: existing, want: "n1=anti n2=ok"},
		{name: "AddPod that keeps away", pod: objects.Pod("p").Label("app", "web").With(from(term("zone", "x"))).Build(), nodes: nodes(), other: objects.Pod("f").Label("app", "db").With(from(term("zone", "web"))).Build(), on: 1, want: "n1=ok n2=existing"},
		{name: "RemovePod that kept away", pod: objects.Pod("p").Label("app", "web").Build(), nodes: nodes(objects.Pod("e").Label("app", "db").With(from(term("zone", "web"))).Build()), remove: true, other: objects.Pod("e").Label("app", "db").With(from(term("zone", "web"))).Build(), want: "n1=ok n2=ok"},
		{
			name: "AddPod that keeps away from the domain with the empty name", pod: objects.Pod("p").Label("app", "web").With(from(term("zone", "x"))).Build(),
			nodes: []*framework.NodeInfo{node("n1", "zone="), node("n2", "")}, other: objects.Pod("f").Label("app", "db").With(from(term("zone", "web"))).Build(), want: "n1=existing n2=ok",
		},
		{name: "AddPod in another namespace", pod: objects.Pod("p").Label("app", "web").With(from(term("zone", "db"))).Build(), nodes: nodes(), other: objects.Pod("f").Label("app", "db").With(inNamespace("a1")).Build(), want: "n1=ok n2=ok"},
		{name: "AddPod in a selected namespace", pod: objects.Pod("p").Label("app", "web").With(from(term("zone", "db", ofTeam("a")))).Build(), nodes: nodes(), other: objects.Pod("f").Label("app", "db").With(inNamespace("a1")).Build(), want: "n1=anti n2=ok"},
		{name: "AddPod on a node without the key", pod: objects.Pod("p").Label("app", "web").With(from(term("host", "db"))).Build(), nodes: nodes(), other: objects.Pod("f").Label("app", "db").Build(), want: "n1=ok n2=ok"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pl, original := newPlugin(t, nil, tt.nodes, namespaces()...), framework.NewCycleState()
			_, status := pl.PreFilter(t.Context(), original, tt.pod, asLister(tt.nodes))
			fixture.CheckStatus(t, status, nil)
			before := verdicts(t, pl, original, tt.pod, tt.nodes)
			state := original.Clone()
			apply, revert := pl.PreFilterExtensions().AddPod, pl.PreFilterExtensions().RemovePod
			if tt.remove {
				apply, revert = revert, apply
			}
			fixture.CheckStatus(t, apply(t.Context(), state, tt.pod, podInfo(t, tt.other), tt.nodes[tt.on]), nil)
			if got := verdicts(t, pl, state, tt.pod, tt.nodes); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if after := verdicts(t, pl, original, tt.pod, tt.nodes); after != before {
				t.Errorf("changes of a clone show in the original: got %s, was %s", after, before)
			}
			again := state.Clone()
			fixture.CheckStatus(t, revert(t.Context(), again, tt.pod, podInfo(t, tt.other), tt.nodes[tt.on]), nil)
			if got := verdicts(t, pl, again, tt.pod, tt.nodes); got != before {
				t.Errorf("changed back: got %s, was %s", got, before)
			}
			if got := verdicts(t, pl, state, tt.pod, tt.nodes); got != tt.want {
				t.Errorf("changes of a clone of the clone show in it: got %s, want %s", got, tt.want)
			}
			untouched := original.Clone()
			fixture.CheckStatus(t, apply(t.Context(), original, tt.pod, podInfo(t, tt.other), tt.nodes[tt.on]), nil)
			if got := verdicts(t, pl, untouched, tt.pod, tt.nodes); got != before {
				t.Errorf("changes of the original show in a clone: got %s, was %s", got, before)
			}
		})
	}
}

func TestAddPodWithoutNode(t *testing.T) {
	incoming, some := objects.Pod("p").Label("app", "web").With(from(term("zone", "db"))).Build(), nodes()
	pl, state := newPlugin(t, nil, some), framework.NewCycleState()
	pl.PreFilter(t.Context(), state, incoming, asLister(some))
	var changed fwk.NodeInfo = framework.NewNodeInfo()
	fixture.CheckStatus(t, pl.AddPod(t.Context(), state, incoming, podInfo(t, objects.Pod("f").Label("app", "db").Build()), changed), nil)
	if got := verdicts(t, pl, state, incoming, some); got != "n1=ok n2=ok" {
		t.Errorf("got %s", got)
	}
}

// TestFilterBatchAfterChanges asks about all nodes at once after a pod was added to one.
func TestFilterBatchAfterChanges(t *testing.T) {
	incoming, some := objects.Pod("p").Label("app", "web").With(from(term("zone", "db"))).Build(), nodes()
	var snapshot fixture.IndexedNodes
	snapshot.Fill(some)
	built, err := New(t.Context(), nil, &fixture.Handle{Snapshot: &snapshot, Informers: fixture.Informers(t)})
	if err != nil {
		t.Fatal(err)
	}
	pl, state := built.(*plugin), framework.NewCycleState()
	list, _ := snapshot.List()
	_, status := pl.PreFilter(t.Context(), state, incoming, list)
	fixture.CheckStatus(t, status, nil)
	fixture.CheckStatus(t, pl.AddPod(t.Context(), state, incoming, podInfo(t, objects.Pod("f").Label("app", "db").Build()), some[1]), nil)
	statuses := make([]*fwk.Status, len(some))
	fixture.CheckStatus(t, pl.FilterBatch(t.Context(), state, incoming, &snapshot, snapshot.ListOrder(), statuses), nil)
	fixture.CheckStatus(t, statuses[0], nil)
	fixture.CheckStatus(t, statuses[1], fwk.NewStatus(fwk.Unschedulable, ReasonAntiAffinity))
}
