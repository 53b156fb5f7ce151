// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// When a plugin rejects a pod in PreFilter for all nodes, those after it are not asked, but PostFilter is: they have not
// written what they read there. What comes of that ends up in the condition of the pod.
func TestPostFilterWithoutPreFilter(t *testing.T) {
	c := cluster{nodes: []*v1.Node{objects.Node("node-0").Capacity("cpu", "4", "pods", "10").Build()}}
	said := map[string]string{}
	for name, build := range map[string]builder{"kube-scheduler": theirs, "Rouse": ours} {
		s, err := build(t.Context(), c, all(defaultPlugins()))
		if err != nil {
			t.Fatal(err)
		}
		pod := objects.Pod("p").PersistentVolumeClaim("missing").Build()
		state := s.newState()
		_, status, _ := s.framework.RunPreFilterPlugins(t.Context(), state, pod)
		statuses := framework.NewDefaultNodeToStatus()
		statuses.SetAbsentNodesStatus(status)
		_, after := s.framework.RunPostFilterPlugins(t.Context(), state, pod, statuses)
		said[name] = fmt.Sprintf("%s; %s by %s: %s", describe(status), after.Code(), after.Plugin(), after.Message())
	}
	if said["Rouse"] != said["kube-scheduler"] {
		t.Errorf("Rouse: %s\nkube-scheduler: %s", said["Rouse"], said["kube-scheduler"])
	}
}
