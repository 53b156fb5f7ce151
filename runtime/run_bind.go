// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
)

// errOtherPreBindFailed is why the context of a PreBind plugin ends when another one of its group fails.
var errOtherPreBindFailed = errors.New("some other PreBind operation failed")

// RunPreBindPreFlights asks every PreBind plugin whether it has anything to do for the pod. The status is Success if
// any has, Skip if none has, or an Error; the state then knows which plugins to skip and which may run in parallel.
func (f *Framework) RunPreBindPreFlights(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodeName string) *fwk.Status {
	return f.contain(pod, f.preBind.outOfTree(), func() *fwk.Status { return f.runPreBindPreFlights(ctx, state, pod, nodeName) })
}

func (f *Framework) runPreBindPreFlights(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodeName string) (status *fwk.Status) {
	calls := f.startExtensionPoint(ctx, MethodPreBindPreFlight, state, pod)
	defer calls.end(&status)
	skipped, parallel := sets.New[string](), sets.New[string]()
	for i := range f.preBind {
		plugin := &f.preBind[i]
		result, status := plugin.plugin.PreBindPreFlight(calls.enter(ctx, &plugin.identity), state, pod, nodeName)
		calls.leave(status)
		if result != nil && result.AllowParallel {
			parallel.Insert(plugin.name)
		}
		switch status.Code() {
		case fwk.Success:
		case fwk.Skip:
			skipped.Insert(plugin.name)
		case fwk.Error:
			return failed(fmt.Sprintf("running PreBindPreFlight %q", plugin.name), plugin.name, status)
		default:
			return fwk.AsStatus(fmt.Errorf(
				"PreBindPreFlight %s returned %q, which is unsupported. It is supposed to return Success, Skip, or Error status",
				plugin.name, codeName(status.Code()))).WithPlugin(plugin.name)
		}
	}
	state.SetSkipPreBindPlugins(skipped)
	state.SetParallelPreBindPlugins(parallel)
	if len(skipped) == len(f.preBind) {
		return fwk.NewStatus(fwk.Skip)
	}
	return nil
}

// RunPreBindPlugins runs the PreBind plugins that have something to do, as far as RunPreBindPreFlights has found out:
// group after group, those of a group in parallel, until one fails. If the context was cancelled, the error says why.
func (f *Framework) RunPreBindPlugins(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodeName string) *fwk.Status {
	return f.contain(pod, f.preBind.outOfTree(), func() *fwk.Status { return f.runPreBindPlugins(ctx, state, pod, nodeName) })
}

func (f *Framework) runPreBindPlugins(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodeName string) (status *fwk.Status) {
	calls := f.startExtensionPoint(ctx, MethodPreBind, state, pod)
	defer calls.end(&status)
	for _, group := range f.preBindGroups(state) {
		if status := f.runPreBindGroup(ctx, state, pod, nodeName, group); !status.IsSuccess() {
			return status
		}
	}
	return nil
}

// preBindGroups cuts the plugins into groups: neighbours that allow it share one. A plugin that does not allow it
// separates its neighbours even where it is skipped itself.
func (f *Framework) preBindGroups(state fwk.CycleState) []stage[fwk.PreBindPlugin] {
	skipped, parallel := state.GetSkipPreBindPlugins(), state.GetParallelPreBindPlugins()
	var (
		groups []stage[fwk.PreBindPlugin]
		open   bool // the last group takes more
	)
	for _, plugin := range f.preBind {
		joins := parallel.Has(plugin.name)
		switch {
		case skipped.Has(plugin.name):
			open = open && joins
		case joins && open:
			groups[len(groups)-1] = append(groups[len(groups)-1], plugin)
		default:
			groups = append(groups, stage[fwk.PreBindPlugin]{plugin})
			open = joins
		}
	}
	return groups
}

func (f *Framework) runPreBindGroup(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodeName string, group stage[fwk.PreBindPlugin]) *fwk.Status {
	if len(group) == 1 {
		return f.runPreBind(ctx, state, pod, nodeName, &group[0])
	}
	groupCtx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var first atomic.Pointer[fwk.Status]
	f.parallelizer.Until(groupCtx, len(group), func(i int) {
		status := f.runPreBind(groupCtx, state, pod, nodeName, &group[i])
		if !status.IsSuccess() && first.CompareAndSwap(nil, status) {
			cancel(errOtherPreBindFailed)
		}
	}, string(MethodPreBind))
	if failure := first.Load(); failure != nil {
		return failure
	}
	if err := context.Cause(ctx); err != nil { // not all of the group may have run
		return fwk.AsStatus(fmt.Errorf("running PreBind plugins: %w", err))
	}
	return nil
}

func (f *Framework) runPreBind(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodeName string, plugin *member[fwk.PreBindPlugin]) (status *fwk.Status) {
	calls := f.startCalls(ctx, MethodPreBind, state, pod)
	defer calls.end(&status)
	status = plugin.plugin.PreBind(calls.enter(ctx, &plugin.identity), state, pod, nodeName)
	calls.leave(status)
	switch {
	case status.IsSuccess():
		return nil
	case status.IsRejected():
		return named(status, plugin.name)
	}
	err := causeOf(status)
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, context.Canceled) {
		err = cause
	}
	return failedWith(fmt.Sprintf("running PreBind plugin %q", plugin.name), plugin.name, err)
}

// RunBindPlugins offers the pod to the Bind plugins until one does not return Skip. If all do, or there are none, the
// status is Skip.
func (f *Framework) RunBindPlugins(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodeName string) *fwk.Status {
	return f.contain(pod, f.bind.outOfTree(), func() *fwk.Status { return f.runBindPlugins(ctx, state, pod, nodeName) })
}

func (f *Framework) runBindPlugins(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodeName string) (status *fwk.Status) {
	calls := f.startExtensionPoint(ctx, MethodBind, state, pod)
	defer calls.end(&status)
	for i := range f.bind {
		plugin := &f.bind[i]
		status := plugin.plugin.Bind(calls.enter(ctx, &plugin.identity), state, pod, nodeName)
		calls.leave(status)
		switch {
		case status.IsSkip():
		case status.IsSuccess():
			return status
		case status.IsRejected():
			return named(status, plugin.name)
		default:
			return failed(fmt.Sprintf("running Bind plugin %q", plugin.name), plugin.name, status)
		}
	}
	return fwk.NewStatus(fwk.Skip)
}

// RunPostBindPlugins tells every PostBind plugin that the pod was bound. A plugin that panics does not keep the others
// from being told.
func (f *Framework) RunPostBindPlugins(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodeName string) {
	var status *fwk.Status // has nothing to say
	calls := f.startExtensionPoint(ctx, MethodPostBind, state, pod)
	defer calls.end(&status)
	for i := range f.postBind {
		f.runInformed(ctx, MethodPostBind, &f.postBind[i].identity, state, pod, func(ctx context.Context) {
			f.postBind[i].plugin.PostBind(ctx, state, pod, nodeName)
		})
	}
}
