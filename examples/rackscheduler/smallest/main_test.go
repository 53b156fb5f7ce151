// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/rouse-scheduler/rouse/plugintest"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

func TestWakeUps(t *testing.T) {
	options := plugintest.Options{
		Nodes: []*v1.Node{objects.Node("n1").Label("team", "mail").Build()},
		Pods:  []*v1.Pod{objects.Pod("web").Label("team", "shop").Build()},
	}
	f := plugintest.NewFramework(t, "TeamNodes", newPlugin, options)
	if got := f.Filter(options.Pods[0], "n1"); got.Message() != "node(s) of another team" {
		t.Errorf("got %v, want the node to be rejected", got)
	}
	plugintest.CheckRequeue(t, "TeamNodes", newPlugin, options,
		plugintest.Updated(options.Nodes[0], objects.Node("n1").Build()),
		plugintest.Updated(options.Pods[0], objects.Pod("web").Label("team", "mail").Build()),
	)
}
