// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"context"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// PreEnqueuePlugins returns the plugins that may keep a pod out of the queue, in their order. They are called without
// the framework, so each comes wrapped: one that panics returns an Error status.
func (f *Framework) PreEnqueuePlugins() []fwk.PreEnqueuePlugin {
	guarded := make([]fwk.PreEnqueuePlugin, 0, len(f.preEnqueue))
	for _, plugin := range f.preEnqueue {
		guarded = append(guarded, guardedPreEnqueue{PreEnqueuePlugin: plugin.plugin, framework: f})
	}
	return guarded
}

// guardedPreEnqueue is a plugin whose panics become the failure of a pod.
type guardedPreEnqueue struct {
	fwk.PreEnqueuePlugin
	framework *Framework
}

// PreEnqueue implements fwk.PreEnqueuePlugin.
func (g guardedPreEnqueue) PreEnqueue(ctx context.Context, pod *v1.Pod) (status *fwk.Status) {
	defer g.framework.guardStatus(MethodPreEnqueue, g.Name(), pod, &status)
	return g.PreEnqueuePlugin.PreEnqueue(ctx, pod)
}

// Less returns the order of the scheduling queue, or nil for a framework without a profile. Where the plugin panics
// the first of the two does not go before the second.
func (f *Framework) Less() fwk.LessFunc {
	if len(f.queueSort) == 0 {
		return nil
	}
	sorter := f.queueSort[0]
	return func(a, b fwk.QueuedEntityInfo) (before bool) {
		var err error // is in the log
		defer f.guard(MethodLess, sorter.name, nil, &err)
		return sorter.plugin.Less(a, b)
	}
}
