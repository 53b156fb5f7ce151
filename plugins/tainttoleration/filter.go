// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package tainttoleration

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1"
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
	logger := klog.FromContext(ctx)
	node := nodeInfo.Node()
	taint, found := untoleratedTaint(logger, pod, node)
	if !found {
		return nil
	}
	if verbose := logger.V(5); verbose.Enabled() {
		verbose.Info("The pod does not tolerate a taint of the node", "pod", klog.KObj(pod), "node", klog.KObj(node), "taint", taint)
	}
	return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, reasonUntolerated)
}

// untoleratedTaint returns the first taint of the node that keeps the pod away.
func untoleratedTaint(logger klog.Logger, pod *v1.Pod, node *v1.Node) (v1.Taint, bool) {
	return corev1.FindMatchingUntoleratedTaint(logger, node.Spec.Taints, pod.Spec.Tolerations, keepsAway, false)
}

func keepsAway(taint *v1.Taint) bool {
	return taint.Effect == v1.TaintEffectNoSchedule || taint.Effect == v1.TaintEffectNoExecute
}
