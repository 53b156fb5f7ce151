// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"context"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
)

// RunPreFilterPlugins runs PreFilter over all nodes of the snapshot. It returns the nodes that are left (nil for all),
// the status, and the plugins that left nodes out, nil if none did.
//
// A plugin that returns Skip is skipped at Filter. One that returns Unschedulable does not keep the rest from running,
// because preemption needs their state; UnschedulableAndUnresolvable, errors and a combination of plugins that leaves
// no node do. Of several Unschedulable statuses the last is returned.
func (f *Framework) RunPreFilterPlugins(ctx context.Context, state fwk.CycleState, pod *v1.Pod) (_ *fwk.PreFilterResult, status *fwk.Status, _ sets.Set[string]) {
	calls := f.startExtensionPoint(ctx, MethodPreFilter, state, pod)
	defer calls.end(&status)
	skipped := make(sets.Set[string], len(f.preFilter)) // most plugins skip most pods
	defer func() { state.SetSkipFilterPlugins(skipped) }()

	nodes, err := f.snapshotNodes()
	if err != nil {
		return nil, fwk.AsStatus(fmt.Errorf("listing the nodes of the snapshot: %w", err)), nil
	}
	var (
		result    *fwk.PreFilterResult
		rejected  *fwk.Status
		narrowers sets.Set[string]
	)
	for i := range f.preFilter {
		plugin := &f.preFilter[i]
		kept, returned := plugin.plugin.PreFilter(calls.enter(ctx, &plugin.identity), state, pod, nodes)
		calls.leave(returned)
		if returned.IsSkip() {
			skipped.Insert(plugin.name)
			continue
		}
		plugin.countEvaluation()
		switch returned.Code() {
		case fwk.Success:
		case fwk.Unschedulable:
			rejected = named(returned, plugin.name)
			continue
		case fwk.UnschedulableAndUnresolvable:
			return nil, named(returned, plugin.name), nil
		default:
			return nil, failed(fmt.Sprintf("running PreFilter plugin %q", plugin.name), plugin.name, returned), nil
		}
		if kept.AllNodes() {
			continue
		}
		f.checkKept(&plugin.identity, pod, kept)
		if narrowers == nil {
			narrowers = sets.New[string]()
		}
		narrowers.Insert(plugin.name)
		if result = result.Merge(kept); len(result.NodeNames) == 0 {
			return result, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, noNodesLeft(narrowers)), narrowers
		}
	}
	return result, rejected, narrowers
}

func noNodesLeft(narrowers sets.Set[string]) string {
	names := sets.List(narrowers)
	if len(names) == 1 {
		return "node(s) didn't satisfy plugin " + names[0]
	}
	return fmt.Sprintf("node(s) didn't satisfy plugin(s) [%s] simultaneously", strings.Join(names, " "))
}

func (f *Framework) snapshotNodes() ([]fwk.NodeInfo, error) {
	if f.options.Snapshot == nil {
		return nil, nil
	}
	return f.options.Snapshot.NodeInfos().List()
}

// RunPreFilterExtensionAddPod implements fwk.PluginsRunner: it tells the PreFilter plugins that were not skipped what
// would be if another pod were on the node.
func (f *Framework) RunPreFilterExtensionAddPod(ctx context.Context, state fwk.CycleState, podToSchedule *v1.Pod, podInfoToAdd fwk.PodInfo, nodeInfo fwk.NodeInfo) (status *fwk.Status) {
	calls := f.startCalls(ctx, MethodAddPod, state, podToSchedule)
	defer calls.end(&status)
	return f.runPreFilterExtensions(ctx, &calls, state, "AddPod", func(ctx context.Context, extensions fwk.PreFilterExtensions) *fwk.Status {
		return extensions.AddPod(ctx, state, podToSchedule, podInfoToAdd, nodeInfo)
	})
}

// RunPreFilterExtensionRemovePod implements fwk.PluginsRunner: it tells the PreFilter plugins that were not skipped
// what would be if a pod were gone from the node.
func (f *Framework) RunPreFilterExtensionRemovePod(ctx context.Context, state fwk.CycleState, podToSchedule *v1.Pod, podInfoToRemove fwk.PodInfo, nodeInfo fwk.NodeInfo) (status *fwk.Status) {
	calls := f.startCalls(ctx, MethodRemovePod, state, podToSchedule)
	defer calls.end(&status)
	return f.runPreFilterExtensions(ctx, &calls, state, "RemovePod", func(ctx context.Context, extensions fwk.PreFilterExtensions) *fwk.Status {
		return extensions.RemovePod(ctx, state, podToSchedule, podInfoToRemove, nodeInfo)
	})
}

func (f *Framework) runPreFilterExtensions(ctx context.Context, calls *pluginCalls, state fwk.CycleState, change string, call func(context.Context, fwk.PreFilterExtensions) *fwk.Status) *fwk.Status {
	skipped := state.GetSkipFilterPlugins()
	for i := range f.preFilter {
		plugin := &f.preFilter[i]
		if skipped.Has(plugin.name) {
			continue
		}
		pluginCtx := calls.enter(ctx, &plugin.identity)
		extensions := plugin.plugin.PreFilterExtensions()
		if extensions == nil {
			calls.endCall()
			continue
		}
		status := call(pluginCtx, extensions)
		calls.leave(status)
		if !status.IsSuccess() {
			return failed(fmt.Sprintf("running %s on PreFilter plugin %q", change, plugin.name), plugin.name, status)
		}
	}
	return nil
}
