// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// PreEnqueuePlugins returns the plugins that may keep a pod out of the queue, in their order. They are called without
// the framework, so each comes wrapped: one that panics returns an Error status.
func (f *Framework) PreEnqueuePlugins() []fwk.PreEnqueuePlugin {
	plugins := make([]fwk.PreEnqueuePlugin, 0, len(f.preEnqueue))
	for i := range f.preEnqueue {
		plugin := &f.preEnqueue[i]
		plugins = append(plugins, recoveringPreEnqueue{PreEnqueuePlugin: plugin.plugin, identity: &plugin.identity, framework: f})
	}
	return plugins
}

// recoveringPreEnqueue is a plugin whose panics become the failure of a pod.
type recoveringPreEnqueue struct {
	fwk.PreEnqueuePlugin
	identity  *identity
	framework *Framework
}

// PreEnqueue implements fwk.PreEnqueuePlugin.
func (p recoveringPreEnqueue) PreEnqueue(ctx context.Context, pod *v1.Pod) *fwk.Status {
	if !p.identity.outOfTree {
		return p.PreEnqueuePlugin.PreEnqueue(ctx, pod)
	}
	var status *fwk.Status
	err := p.framework.call(MethodPreEnqueue, p.identity, pod, func() { status = p.PreEnqueuePlugin.PreEnqueue(ctx, pod) })
	if err != nil {
		return fwk.AsStatus(err).WithPlugin(p.identity.name)
	}
	if status.Code() == fwk.Error {
		p.framework.report(MethodPreEnqueue, p.identity.name, pod, fmt.Errorf("running %s: %w", MethodPreEnqueue, status.AsError()))
	}
	return status
}

// Less returns the order of the scheduling queue, or nil for a framework without a profile. Where the plugin panics, or ends
// its goroutine, the first of the two does not go before the second.
func (f *Framework) Less() fwk.LessFunc {
	if len(f.queueSort) == 0 {
		return nil
	}
	sorter := &f.queueSort[0]
	if !sorter.outOfTree {
		return sorter.plugin.Less
	}
	return func(a, b fwk.QueuedEntityInfo) (before bool) {
		// The error is in the log.
		_ = f.call(MethodLess, &sorter.identity, nil, func() { before = sorter.plugin.Less(a, b) })
		return before
	}
}

// WithLess returns a function for whoever compares many pods at once: it calls do with the order of [Framework.Less], which do
// must not keep. There is one goroutine for all these comparisons, not one for each. If the plugin ends it, do is called
// again from its start. WithLess returns nil where Less needs no goroutine, because the plugin is in-tree or there is none.
func (f *Framework) WithLess() func(do func(less fwk.LessFunc)) {
	if len(f.queueSort) == 0 || !f.queueSort[0].outOfTree {
		return nil
	}
	return f.withLess
}

func (f *Framework) withLess(do func(less fwk.LessFunc)) {
	sorter := &f.queueSort[0]
	var a, b fwk.QueuedEntityInfo // those that are being compared
	compare := func(first, second fwk.QueuedEntityInfo) (before bool) {
		var err error // it is in the log
		defer f.recoverPanic(MethodLess, &sorter.identity, nil, &err)
		a, b = first, second
		return sorter.plugin.Less(first, second)
	}
	record := f.options.Execution.Calls.begin(MethodLess, nil)
	record.plugin.Store(&sorter.identity)
	returned := false
	func() {
		defer f.options.Execution.Calls.end(record)
		returned = isolate(func() { do(compare) })
	}()
	if returned {
		return
	}
	_ = f.ended(MethodLess, &sorter.identity, nil)
	less := f.Less()
	do(func(first, second fwk.QueuedEntityInfo) bool {
		return (first != a || second != b) && less(first, second)
	})
}
