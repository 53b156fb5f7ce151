// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package nodeunschedulable

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
)

// PreFilter implements fwk.PreFilterPlugin. There is nothing to prepare, and Filter is never skipped.
func (pl *plugin) PreFilter(context.Context, fwk.CycleState, *v1.Pod, []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	return nil, nil
}

// PreFilterExtensions implements fwk.PreFilterPlugin; other pods don't matter.
func (pl *plugin) PreFilterExtensions() fwk.PreFilterExtensions { return nil }

// Filter implements fwk.FilterPlugin.
func (pl *plugin) Filter(ctx context.Context, _ fwk.CycleState, pod *v1.Pod, nodeInfo fwk.NodeInfo) *fwk.Status {
	if !nodeInfo.Node().Spec.Unschedulable || toleratesCordon(klog.FromContext(ctx), pod) {
		return nil
	}
	return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, reasonCordoned)
}
