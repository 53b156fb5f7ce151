// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
)

// PanicError is what the panic of a plugin becomes: an error of the pod that the plugin was called for. The stack is
// in the log.
type PanicError struct {
	Plugin string
	Method Method
	// Value is what the plugin panicked with.
	Value any
}

// Error implements error.
func (e *PanicError) Error() string {
	return fmt.Sprintf("plugin %q panicked in %s: %v", e.Plugin, e.Method, e.Value)
}

// Unwrap returns the panic value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// run is one pass over plugins. It knows which plugin is being called, so that one deferred end covers the panics of
// all of them, and a pass costs no allocation.
type run struct {
	framework *Framework
	method    Method
	pod       *v1.Pod
	plugin    string // the one that is called now
	verbose   bool   // plugins get loggers with their names

	observePoint  bool
	observePlugin bool
	pointStart    time.Time
	pluginStart   time.Time
}

// startPass begins a pass whose duration as a whole is not measured.
func (f *Framework) startPass(ctx context.Context, method Method, state fwk.CycleState, pod *v1.Pod) run {
	return run{
		framework:     f,
		method:        method,
		pod:           pod,
		verbose:       klog.FromContext(ctx).V(4).Enabled(),
		observePlugin: f.options.Metrics != nil && state.ShouldRecordPluginMetrics(),
	}
}

// startPoint begins a pass that is the run of an extension point.
func (f *Framework) startPoint(ctx context.Context, method Method, state fwk.CycleState, pod *v1.Pod) run {
	r := f.startPass(ctx, method, state, pod)
	if f.options.Metrics != nil {
		r.observePoint, r.pointStart = true, f.options.Clock.Now()
	}
	return r
}

// enter is called before every call of a plugin, and returns the context for it.
func (r *run) enter(ctx context.Context, plugin string) context.Context {
	r.plugin = plugin
	if r.observePlugin {
		r.pluginStart = r.framework.options.Clock.Now()
	}
	if !r.verbose {
		return ctx
	}
	logger := klog.LoggerWithName(klog.LoggerWithName(klog.FromContext(ctx), string(r.method)), plugin)
	return klog.NewContext(ctx, logger)
}

// leave is called after every call of a plugin.
func (r *run) leave(status *fwk.Status) {
	if r.observePlugin {
		duration := r.framework.options.Clock.Since(r.pluginStart)
		r.framework.options.Metrics.PluginDuration(r.plugin, r.method, codeName(status.Code()), duration)
	}
}

// end must be deferred itself, not called by a deferred function. If a plugin panicked, it makes *status an error.
func (r *run) end(status **fwk.Status) {
	if value := recover(); value != nil {
		err := r.framework.panicked(r.method, r.plugin, r.pod, value)
		*status = fwk.AsStatus(err).WithPlugin(r.plugin)
		r.leave(*status)
	}
	if r.observePoint {
		f := r.framework
		duration := f.options.Clock.Since(r.pointStart)
		f.options.Metrics.ExtensionPointDuration(r.method, codeName((*status).Code()), f.ProfileName(), duration)
	}
}

// guardStatus covers a single call outside of a pass. It must be deferred itself.
func (f *Framework) guardStatus(method Method, plugin string, pod *v1.Pod, status **fwk.Status) {
	if value := recover(); value != nil {
		*status = fwk.AsStatus(f.panicked(method, plugin, pod, value)).WithPlugin(plugin)
	}
}

// guard covers a single call that returns an error. It must be deferred itself. The pod may be nil.
func (f *Framework) guard(method Method, plugin string, pod *v1.Pod, err *error) {
	if value := recover(); value != nil {
		*err = f.panicked(method, plugin, pod, value)
	}
}

func (f *Framework) panicked(method Method, plugin string, pod *v1.Pod, value any) error {
	stack := debug.Stack()
	if worker, ok := value.(*workerPanic); ok {
		value, stack = worker.value, worker.stack
	}
	err := &PanicError{Plugin: plugin, Method: method, Value: value}
	f.options.Logger.Error(err, "Plugin panicked", "profile", f.ProfileName(), "pod", klog.KObj(pod), "stack", string(stack))
	return err
}

// named returns the status with the name of the plugin that returned it. Plugins share statuses between nodes and
// pods, so it never changes the one it is given.
func named(status *fwk.Status, plugin string) *fwk.Status {
	if status.Plugin() == plugin {
		return status
	}
	return status.Clone().WithPlugin(plugin)
}

// failed makes an Error of a status that the extension point does not allow, or that is one already. The action says
// what was being done.
func failed(action, plugin string, status *fwk.Status) *fwk.Status {
	return failedWith(action, plugin, causeOf(status))
}

func failedWith(action, plugin string, err error) *fwk.Status {
	return fwk.AsStatus(fmt.Errorf("%s: %w", action, err)).WithPlugin(plugin)
}

// causeOf returns the status as an error, also where the code is one that counts as none.
func causeOf(status *fwk.Status) error {
	if err := status.AsError(); err != nil {
		return err
	}
	return fmt.Errorf("unexpected status %s %q", codeName(status.Code()), status.Message())
}
