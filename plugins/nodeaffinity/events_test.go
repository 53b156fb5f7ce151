// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package nodeaffinity

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2/ktesting"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

func TestHintAfterNodeChange(t *testing.T) {
	node := func(pairs ...string) *v1.Node {
		return objects.Node("n").With(func(node *v1.Node) { node.Labels = labels(pairs...) }).Build()
	}
	wantsFoo := requiring(term(in("foo", "bar")))
	inZone := added(term(in("zone", "x")))

	tests := []struct {
		name     string
		pod      *v1.Pod
		added    *v1.NodeAffinity
		old, new *v1.Node
		want     fwk.QueueingHint
	}{
		{"add: does not match", wantsFoo, nil, nil, node("foo", "other"), fwk.QueueSkip},
		{"add: matches", wantsFoo, nil, nil, node("foo", "bar"), fwk.Queue},
		{"add: node selector matches", selecting("foo", "bar"), nil, nil, node("foo", "bar"), fwk.Queue},
		{"add: node selector does not match", selecting("foo", "bar"), nil, nil, node(), fwk.QueueSkip},
		{"update: still does not match", wantsFoo, nil, node("foo", "a"), node("foo", "b"), fwk.QueueSkip},
		{"update: matches now", wantsFoo, nil, node("foo", "a"), node("foo", "bar"), fwk.Queue},
		{"update: matched before already", wantsFoo, nil, node("foo", "bar"), node("foo", "bar", "x", "y"), fwk.QueueSkip},
		{"update: no longer matches", wantsFoo, nil, node("foo", "bar"), node(), fwk.QueueSkip},
		{"enforced, add: both match", wantsFoo, inZone, nil, node("foo", "bar", "zone", "x"), fwk.Queue},
		{"enforced, add: only the pod's matches", wantsFoo, inZone, nil, node("foo", "bar"), fwk.QueueSkip},
		{"enforced, add: only the profile's matches", wantsFoo, inZone, nil, node("zone", "x"), fwk.QueueSkip},
		{"enforced, update: both match now", wantsFoo, inZone, node(), node("foo", "bar", "zone", "x"), fwk.Queue},
		{"enforced, update: the profile's does not match", wantsFoo, inZone, node(), node("foo", "bar"), fwk.QueueSkip},
		{
			"enforced, update: the pod's matched already, the profile's does now", wantsFoo, inZone, node("foo", "bar"),
			node("foo", "bar", "zone", "x"), fwk.Queue,
		},
		{
			"enforced, update: both matched already", wantsFoo, inZone, node("foo", "bar", "zone", "x"),
			node("foo", "bar", "zone", "x", "more", "labels"), fwk.QueueSkip,
		},
		{
			"enforced, update: matches now, and the pod requires nothing", objects.Pod("p").Build(), inZone, node(), node("zone", "x"), fwk.Queue,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			hint := fixture.Hint(t, newPlugin(t, tt.added), fwk.Node, fwk.Add|fwk.UpdateNodeLabel)
			fixture.CheckHint(t, hint, tt.pod, tt.old, tt.new, tt.want)
		})
	}

	hint := fixture.Hint(t, newPlugin(t, nil), fwk.Node, fwk.Add|fwk.UpdateNodeLabel)
	t.Run("wrong and absent objects", func(t *testing.T) {
		fixture.CheckHintObjects(t, hint, wantsFoo, nil)
	})
	t.Run("an affinity that does not parse queues", func(t *testing.T) {
		logger, _ := ktesting.NewTestContext(t)
		invalid := requiring(term(expr("foo", "Near", "bar")))
		if got, err := hint(logger, invalid, nil, node("foo", "bar")); err == nil || got != fwk.Queue {
			t.Errorf("got %v and error %v, want Queue and an error", got, err)
		}
	})
}
