// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package gatedoff_test

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugins"
	"github.com/rouse-scheduler/rouse/plugins/internal/gatedoff"
)

// TestPluginsDoNothing has the plugins see a pod of a group, which they would reject if their gates were on.
func TestPluginsDoNothing(t *testing.T) {
	group := "gang"
	pod := &v1.Pod{Spec: v1.PodSpec{SchedulingGroup: &v1.PodSchedulingGroup{PodGroupName: &group}}}
	registry := plugins.NewInTreeRegistry()
	for name := range gatedoff.Gates() {
		plugin, err := registry[name](t.Context(), nil, nil)
		if err != nil || plugin.Name() != name {
			t.Fatalf("%s: made %v, error %v", name, plugin, err)
		}
		if plugin, ok := plugin.(fwk.PreEnqueuePlugin); ok {
			if status := plugin.PreEnqueue(t.Context(), pod); !status.IsSuccess() {
				t.Errorf("%s: PreEnqueue says %v", name, status)
			}
		}
		if plugin, ok := plugin.(fwk.PreFilterPlugin); ok {
			if _, status := plugin.PreFilter(t.Context(), nil, pod, nil); !status.IsSkip() {
				t.Errorf("%s: PreFilter says %v", name, status)
			}
		}
		if plugin, ok := plugin.(fwk.PermitPlugin); ok {
			if status, wait := plugin.Permit(t.Context(), nil, pod, "n1"); !status.IsSuccess() || wait != 0 {
				t.Errorf("%s: Permit says %v and waits %v", name, status, wait)
			}
		}
	}
}
