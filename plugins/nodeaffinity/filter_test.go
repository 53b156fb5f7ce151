// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package nodeaffinity

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

func notPod() *fwk.Status {
	return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "node(s) didn't match Pod's node affinity/selector")
}

func TestFilter(t *testing.T) {
	tests := []struct {
		name   string
		pod    *v1.Pod
		labels map[string]string
		want   *fwk.Status
	}{
		{"node selector: missing label", selecting("a", "1"), nil, notPod()},
		{"node selector: match", selecting("a", "1"), labels("a", "1"), nil},
		{"node selector: more labels on the node", selecting("a", "1"), labels("a", "1", "b", "2"), nil},
		{"node selector: only a part matches", selecting("a", "1", "b", "2"), labels("a", "1"), notPod()},
		{"In: match", requiring(term(in("a", "1", "2"))), labels("a", "2"), nil},
		{"In: other value", requiring(term(in("a", "1", "2"))), labels("a", "3"), notPod()},
		{"In: missing label", requiring(term(in("a", "1"))), nil, notPod()},
		{"NotIn: other value", requiring(term(expr("a", v1.NodeSelectorOpNotIn, "1"))), labels("a", "2"), nil},
		{"NotIn: the value", requiring(term(expr("a", v1.NodeSelectorOpNotIn, "1"))), labels("a", "1"), notPod()},
		{"NotIn: missing label", requiring(term(expr("a", v1.NodeSelectorOpNotIn, "1"))), nil, nil},
		{"Exists: match", requiring(term(expr("a", v1.NodeSelectorOpExists))), labels("a", ""), nil},
		{"Exists: missing label", requiring(term(expr("a", v1.NodeSelectorOpExists))), labels("b", ""), notPod()},
		{"DoesNotExist: missing label", requiring(term(expr("a", v1.NodeSelectorOpDoesNotExist))), labels("b", ""), nil},
		{"DoesNotExist: label there", requiring(term(expr("a", v1.NodeSelectorOpDoesNotExist))), labels("a", ""), notPod()},
		{"Gt: greater", requiring(term(expr("a", v1.NodeSelectorOpGt, "4"))), labels("a", "5"), nil},
		{"Gt: equal", requiring(term(expr("a", v1.NodeSelectorOpGt, "4"))), labels("a", "4"), notPod()},
		{"Lt: less", requiring(term(expr("a", v1.NodeSelectorOpLt, "4"))), labels("a", "3"), nil},
		{"Lt: equal", requiring(term(expr("a", v1.NodeSelectorOpLt, "4"))), labels("a", "4"), notPod()},
		{"expressions of a term are ANDed", requiring(term(in("a", "1"), in("b", "2"))), labels("a", "1", "b", "3"), notPod()},
		{"expressions of a term all match", requiring(term(in("a", "1"), in("b", "2"))), labels("a", "1", "b", "2"), nil},
		{"terms are ORed", requiring(term(in("a", "1")), term(in("b", "2"))), labels("b", "2"), nil},
		{"no term matches", requiring(term(in("a", "1")), term(in("b", "2"))), labels("c", "3"), notPod()},
		{"node selector AND affinity: both", selecting("a", "1", requires(term(in("b", "2")))), labels("a", "1", "b", "2"), nil},
		{
			"node selector AND affinity: only the selector", selecting("a", "1", requires(term(in("b", "2")))),
			labels("a", "1"), notPod(),
		},
		{
			"node selector AND affinity: only the affinity", selecting("a", "1", requires(term(in("b", "2")))),
			labels("b", "2"), notPod(),
		},
		{"no terms match nothing", requiring(), nil, notPod()},
		{"an empty term matches nothing", requiring(v1.NodeSelectorTerm{}), nil, notPod()},
		{"an empty term next to one that matches", requiring(v1.NodeSelectorTerm{}, term(in("a", "1"))), labels("a", "1"), nil},
		{"an invalid value never matches", requiring(term(in("a", "{{.bad-value.}}"))), labels("a", "{{.bad-value.}}"), notPod()},
		{
			"an invalid term does not spoil another", requiring(term(in("a", "{{.bad-value.}}")), term(in("b", "2"))),
			labels("b", "2"), nil,
		},
		{"an unknown operator never matches", requiring(term(expr("a", "Near", "1"))), labels("a", "1"), notPod()},
		{"matchFields alone: match", requiring(fields(nameIn("n"))), nil, nil},
		{"matchFields alone: other name", requiring(fields(nameIn("other"))), nil, notPod()},
		{"matchFields NotIn: the name", requiring(fields(nameNotIn("n"))), nil, notPod()},
		{"matchFields NotIn: other name", requiring(fields(nameNotIn("other"))), nil, nil},
		{"matchFields with two values never match", requiring(fields(nameIn("n", "m"))), nil, notPod()},
		{"matchFields combined: both", requiring(both(in("a", "1"), nameIn("n"))), labels("a", "1"), nil},
		{"matchFields combined: only the field", requiring(both(in("a", "1"), nameIn("n"))), nil, notPod()},
		{"matchFields or expressions in two terms", requiring(fields(nameIn("other")), term(in("a", "1"))), labels("a", "1"), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pl, state := newPlugin(t, nil), framework.NewCycleState()
			nodeInfo := fixture.NodeInfo(objects.Node("n").With(func(node *v1.Node) { node.Labels = tt.labels }).Build())
			t.Run("PreFilter not called", func(t *testing.T) {
				fixture.CheckStatus(t, pl.Filter(t.Context(), state, tt.pod, nodeInfo), tt.want)
			})
			if _, status := pl.PreFilter(t.Context(), state, tt.pod, nil); status.IsSuccess() {
				fixture.CheckStatus(t, pl.Filter(t.Context(), state, tt.pod, nodeInfo), tt.want)
			}
		})
	}
}

func TestPreFilter(t *testing.T) {
	skip := fwk.NewStatus(fwk.Skip)
	conflict := fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "pod affinity terms conflict")
	preferringOnly := objects.Pod("p").With(prefers(preferred(1, in("a", "1")))).Build()
	emptySelector := objects.Pod("p").With(func(pod *v1.Pod) { pod.Spec.NodeSelector = map[string]string{} }).Build()

	tests := []struct {
		name  string
		pod   *v1.Pod
		added *v1.NodeAffinity
		want  *fwk.Status
		nodes sets.Set[string]
	}{
		{name: "nothing required: skip", pod: objects.Pod("p").Build(), want: skip},
		{name: "only a preference: skip", pod: preferringOnly, want: skip},
		{name: "empty but present selector: no skip", pod: emptySelector},
		{name: "node selector", pod: selecting("a", "1")},
		{name: "only affinity added by the profile", pod: objects.Pod("p").Build(), added: added(term(in("a", "1")))},
		{name: "no terms", pod: requiring()},
		{name: "expressions name no nodes", pod: requiring(term(in("a", "1")))},
		{name: "one term with one field", pod: requiring(fields(nameIn("a"))), nodes: sets.New("a")},
		{name: "one term with several values", pod: requiring(fields(nameIn("a", "b"))), nodes: sets.New("a", "b")},
		{name: "two terms are united", pod: requiring(fields(nameIn("a")), fields(nameIn("b"))), nodes: sets.New("a", "b")},
		{name: "fields of a term are intersected", pod: requiring(fields(nameIn("a", "b"), nameIn("b", "c"))), nodes: sets.New("b")},
		{name: "one term names no nodes", pod: requiring(fields(nameIn("a")), term(in("a", "1")))},
		{name: "fields with other expressions still narrow", pod: requiring(both(in("a", "1"), nameIn("a"))), nodes: sets.New("a")},
		{name: "NotIn does not narrow", pod: requiring(fields(nameNotIn("a")))},
		{name: "conflicting fields", pod: requiring(fields(nameIn("a"), nameIn("b"))), want: conflict},
		{name: "conflicting fields next to another term", pod: requiring(fields(nameIn("a"), nameIn("b")), fields(nameIn("c"))), nodes: sets.New("c")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			result, status := newPlugin(t, tt.added).PreFilter(t.Context(), framework.NewCycleState(), tt.pod, nil)
			fixture.CheckStatus(t, status, tt.want)
			var nodes sets.Set[string]
			if result != nil {
				nodes = result.NodeNames
			}
			if diff := cmp.Diff(tt.nodes, nodes); diff != "" {
				t.Errorf("nodes differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFilterWithAddedAffinity(t *testing.T) {
	enforced := fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "node(s) didn't match scheduler-enforced node affinity")
	tests := []struct {
		name   string
		added  *v1.NodeAffinity
		pod    *v1.Pod
		labels map[string]string
		want   *fwk.Status
	}{
		{"matches, pod wants nothing", added(term(in("zone", "x"))), objects.Pod("p").Build(), labels("zone", "x"), nil},
		{"does not match", added(term(in("zone", "x"))), objects.Pod("p").Build(), labels("zone", "y"), enforced},
		{"by name", added(fields(nameIn("n"))), objects.Pod("p").Build(), nil, nil},
		{"by another name", added(fields(nameIn("other"))), objects.Pod("p").Build(), nil, enforced},
		{"both match", added(term(in("zone", "x"))), selecting("a", "1"), labels("zone", "x", "a", "1"), nil},
		{"only the profile's matches", added(term(in("zone", "x"))), selecting("a", "1"), labels("zone", "x"), notPod()},
		{"only the pod's matches", added(term(in("zone", "x"))), selecting("a", "1"), labels("a", "1"), enforced},
		{"only preferred terms are added", &v1.NodeAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{preferred(1, in("zone", "x"))},
		}, objects.Pod("p").Build(), nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pl := newPlugin(t, tt.added)
			nodeInfo := fixture.NodeInfo(objects.Node("n").With(func(node *v1.Node) { node.Labels = tt.labels }).Build())
			fixture.CheckStatus(t, pl.Filter(t.Context(), framework.NewCycleState(), tt.pod, nodeInfo), tt.want)
		})
	}
}

func TestFilterDoesNotAllocate(t *testing.T) {
	pl, state, ctx := newPlugin(t, nil), framework.NewCycleState(), t.Context()
	pod := selecting("a", "1")
	nodeInfo := fixture.NodeInfo(objects.Node("n").Label("a", "1").Build())
	pl.PreFilter(ctx, state, pod, nil)
	if allocs := testing.AllocsPerRun(100, func() { pl.Filter(ctx, state, pod, nodeInfo) }); allocs != 0 {
		t.Errorf("a passing filter allocates %v times", allocs)
	}
}

func BenchmarkFilter(b *testing.B) {
	ctx := b.Context()
	matching := fixture.NodeInfo(objects.Node("n").Label("a", "1").Build())
	other := fixture.NodeInfo(objects.Node("n").Label("a", "2").Build())
	for _, bb := range []struct {
		name string
		pod  *v1.Pod
		node *framework.NodeInfo
	}{
		{"selector matches", selecting("a", "1"), matching},
		{"selector rejects", selecting("a", "1"), other},
		{"affinity matches", requiring(term(in("a", "1"))), matching},
	} {
		b.Run(bb.name, func(b *testing.B) {
			pl, state := newPlugin(b, nil), framework.NewCycleState()
			pl.PreFilter(ctx, state, bb.pod, nil)
			b.ReportAllocs()
			for b.Loop() {
				pl.Filter(ctx, state, bb.pod, bb.node)
			}
		})
	}
}
