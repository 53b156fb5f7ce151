// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package nodedeclaredfeatures

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	ndf "k8s.io/component-helpers/nodedeclaredfeatures"
	"k8s.io/klog/v2/ktesting"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

const nodeActions = fwk.Add | fwk.UpdateNodeDeclaredFeature

func TestHintAfterNodeChange(t *testing.T) {
	node := func(features ...string) *v1.Node { return declaring(features...).Node() }
	relabelled := node(mountOptions)
	relabelled.Labels = map[string]string{"a": "b"}
	tests := []struct {
		name     string
		old, new *v1.Node
		want     fwk.QueueingHint
	}{
		{"add: has the feature", nil, node(mountOptions), fwk.Queue},
		{"add: whatever it has", nil, node(), fwk.Queue},
		{"update: gets a feature", node(), node(mountOptions), fwk.Queue},
		{"update: loses a feature", node(mountOptions), node(), fwk.Queue},
		{"update: gets a feature that the pod does not need", node(), node(userNamespaces), fwk.Queue},
		{"update: same features", node(mountOptions), relabelled, fwk.QueueSkip},
		{"update: none before and after", node(), node(), fwk.QueueSkip},
	}
	pod := objects.Pod("p").With(usingMountOptions).Build()
	hint := fixture.Hint(t, newPlugin(t), fwk.Node, nodeActions)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fixture.CheckHint(t, hint, pod, tt.old, tt.new, tt.want)
		})
	}
	t.Run("wrong and absent objects", func(t *testing.T) {
		fixture.CheckHintObjects(t, hint, pod, nil)
	})
}

func TestHintAfterSelfChange(t *testing.T) {
	plain, needs := objects.Pod("p").Build(), objects.Pod("p").With(usingMountOptions).Build()
	tests := []struct {
		name     string
		old, new *v1.Pod
		want     fwk.QueueingHint
	}{
		{"needs a feature now", plain, needs, fwk.Queue},
		{"no longer needs a feature", needs, plain, fwk.Queue},
		{"needs another feature", needs, objects.Pod("p").With(usingUserNamespaces).Build(), fwk.Queue},
		{"needs the same", needs, objects.Pod("p").With(usingMountOptions).Label("a", "b").Build(), fwk.QueueSkip},
		{"needs nothing before and after", plain, plain, fwk.QueueSkip},
	}
	hint := fixture.Hint(t, newPlugin(t), fwk.TargetPod, fwk.Update)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fixture.CheckHint(t, hint, tt.new, tt.old, tt.new, tt.want)
		})
	}
	t.Run("wrong and absent objects", func(t *testing.T) {
		fixture.CheckHintObjects(t, hint, needs, needs)
	})
	t.Run("inference fails", func(t *testing.T) {
		logger, _ := ktesting.NewTestContext(t)
		hint := fixture.Hint(t, &plugin{known: ndf.DefaultFramework}, fwk.TargetPod, fwk.Update)
		if got, err := hint(logger, needs, plain, needs); err == nil || got != fwk.Queue {
			t.Errorf("got %v and error %v, want Queue and an error", got, err)
		}
	})
}
