// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// RunReservePluginsReserve implements fwk.PluginsRunner: it runs Reserve until a plugin does not return Success. The
// caller then runs Unreserve, of all plugins.
func (f *Framework) RunReservePluginsReserve(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodeName string) (status *fwk.Status) {
	calls := f.startExtensionPoint(ctx, MethodReserve, state, pod)
	defer calls.end(&status)
	for i := range f.reserve {
		plugin := &f.reserve[i]
		status := plugin.plugin.Reserve(calls.enter(ctx, &plugin.identity), state, pod, nodeName)
		calls.leave(status)
		switch {
		case status.IsSuccess():
		case status.IsRejected():
			return named(status, plugin.name)
		default:
			return failed(fmt.Sprintf("running Reserve plugin %q", plugin.name), plugin.name, status)
		}
	}
	return nil
}

// RunReservePluginsUnreserve implements fwk.PluginsRunner: it runs Unreserve of every Reserve plugin, the last one
// first, whether or not its Reserve ran. A plugin that panics does not keep the others from running.
func (f *Framework) RunReservePluginsUnreserve(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodeName string) {
	var status *fwk.Status // has nothing to say
	calls := f.startExtensionPoint(ctx, MethodUnreserve, state, pod)
	defer calls.end(&status)
	for i := len(f.reserve) - 1; i >= 0; i-- {
		f.runInformed(ctx, MethodUnreserve, &f.reserve[i].identity, state, pod, func(ctx context.Context) {
			f.reserve[i].plugin.Unreserve(ctx, state, pod, nodeName)
		})
	}
}

// runInformed calls a plugin that is only told of something: it may panic, or end its goroutine, and nothing else is affected.
func (f *Framework) runInformed(ctx context.Context, method Method, plugin *identity, state fwk.CycleState, pod *v1.Pod, call func(context.Context)) {
	tell := func() {
		var status *fwk.Status
		calls := f.startCalls(ctx, method, state, pod)
		defer calls.end(&status)
		call(calls.enter(ctx, plugin))
		calls.leave(nil)
	}
	if !plugin.outOfTree {
		tell()
	} else if !isolate(tell) {
		_ = f.options.Execution.Calls.TakeEnded(pod) // is in the log
	}
}
