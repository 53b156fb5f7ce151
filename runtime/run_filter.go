// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	fwk "k8s.io/kube-scheduler/framework"
)

// RunFilterPlugins implements fwk.PluginsRunner: it asks the Filter plugins that PreFilter did not skip about one node,
// until one does not return Success. Rejections are returned as they are, with the name of the plugin; every other
// status is an Error.
//
// It is called for every node, and itself allocates nothing on a node that all plugins accept.
func (f *Framework) RunFilterPlugins(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodeInfo fwk.NodeInfo) (status *fwk.Status) {
	calls := f.startCalls(ctx, MethodFilter, state, pod)
	defer calls.end(&status)
	skipped := state.GetSkipFilterPlugins()
	for i := range f.filter {
		plugin := &f.filter[i]
		if len(skipped) > 0 && skipped.Has(plugin.name) {
			continue
		}
		plugin.countEvaluation()
		pluginCtx := calls.enter(ctx, &plugin.identity)
		if node := nodeInfo.Node(); node != nil && f.checksObjects(&plugin.identity) {
			calls.checked = append(calls.checked, checkNode(node))
		}
		status := plugin.plugin.Filter(pluginCtx, state, pod, nodeInfo)
		calls.leave(status)
		switch {
		case status.IsSuccess():
		case status.IsRejected():
			return status.Clone().WithPlugin(plugin.name) // plugins share statuses between nodes and pods
		default:
			return failed(fmt.Sprintf("running %q filter plugin", plugin.name), plugin.name, status)
		}
	}
	return nil
}

// RunFilterPluginsWithNominatedPods implements fwk.Handle: it filters a node on which other pods are nominated to run.
// Those of the same or higher priority take their place first, so the node must accept the pod next to them; and since
// they may never come, it must accept the pod without them as well.
func (f *Framework) RunFilterPluginsWithNominatedPods(ctx context.Context, state fwk.CycleState, pod *v1.Pod, info fwk.NodeInfo) *fwk.Status {
	if nominated := f.nominatedBefore(pod, info); len(nominated) > 0 {
		stateBeside, infoBeside := state.Clone(), info.Snapshot()
		for _, other := range nominated {
			infoBeside.AddPodInfo(other)
			if status := f.RunPreFilterExtensionAddPod(ctx, stateBeside, pod, other, infoBeside); !status.IsSuccess() {
				return status
			}
		}
		if status := f.RunFilterPlugins(ctx, stateBeside, pod, infoBeside); !status.IsSuccess() {
			return status
		}
	}
	return f.RunFilterPlugins(ctx, state, pod, info)
}

// nominatedBefore returns the pods nominated for a node that the given pod must not push aside.
func (f *Framework) nominatedBefore(pod *v1.Pod, info fwk.NodeInfo) []fwk.PodInfo {
	if info.Node() == nil {
		return nil
	}
	var before []fwk.PodInfo
	for _, nominated := range f.options.Nominator.NominatedPodsForNode(info.Node().Name) {
		other := nominated.GetPod()
		if other.UID != pod.UID && corev1helpers.PodPriority(other) >= corev1helpers.PodPriority(pod) {
			before = append(before, nominated)
		}
	}
	return before
}

// RunPostFilterPlugins looks for a way to make room for a pod that no node accepts. The first plugin that succeeds, or
// says that nothing helps (UnschedulableAndUnresolvable), ends the run. Otherwise the status is Unschedulable with the
// reasons of all plugins, and the result that of the last one that nominated a node or cleared a nomination.
func (f *Framework) RunPostFilterPlugins(ctx context.Context, state fwk.CycleState, pod *v1.Pod, statuses fwk.NodeToStatusReader) (_ *fwk.PostFilterResult, status *fwk.Status) {
	if state.ShouldSkipAllPostFilterPlugins() {
		return nil, fwk.NewStatus(fwk.Unschedulable, "All PostFilter plugins are skipped")
	}
	calls := f.startExtensionPoint(ctx, MethodPostFilter, state, pod)
	defer calls.end(&status)
	var (
		result  *fwk.PostFilterResult
		reasons []string
		first   string
	)
	for i := range f.postFilter {
		plugin := &f.postFilter[i]
		offered, returned := plugin.plugin.PostFilter(calls.enter(ctx, &plugin.identity), state, pod, statuses)
		calls.leave(returned)
		f.checkNominated(&plugin.identity, pod, offered)
		switch {
		case returned.IsSuccess():
			return offered, returned
		case returned.Code() == fwk.UnschedulableAndUnresolvable:
			return offered, named(returned, plugin.name)
		case !returned.IsRejected():
			return nil, fwk.AsStatus(causeOf(returned)).WithPlugin(plugin.name)
		}
		if offered != nil && offered.Mode() != fwk.ModeNoop {
			result = offered
		}
		reasons = append(reasons, returned.Reasons()...)
		if first == "" {
			first = plugin.name
		}
	}
	return result, fwk.NewStatus(fwk.Unschedulable, reasons...).WithPlugin(first)
}
