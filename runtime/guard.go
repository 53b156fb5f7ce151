// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
)

// ErrGoroutineEnded is the Value of a [PanicError] of a plugin that did not panic, but ended the goroutine it was called
// in with runtime.Goexit, as FailNow and Fatal of a test do.
var ErrGoroutineEnded = errors.New("it ended the goroutine that it was called in (runtime.Goexit, or t.Fatal of a test); return an error instead")

// PanicError is what the panic of a plugin becomes: an error of the pod that the plugin was called for. The stack is
// in the log.
type PanicError struct {
	Plugin string
	Method Method
	// Value is what the plugin panicked with, or [ErrGoroutineEnded].
	Value any
	// Source is the line of the plugin that panicked, such as "rack/filter.go:42"; empty if it is not known.
	Source string
}

// Error implements error.
func (e *PanicError) Error() string {
	switch {
	case e.Value == ErrGoroutineEnded:
		return fmt.Sprintf("plugin %q failed in %s: %v", e.Plugin, e.Method, e.Value)
	case e.Source == "":
		return fmt.Sprintf("plugin %q panicked in %s: %v", e.Plugin, e.Method, e.Value)
	}
	return fmt.Sprintf("plugin %q panicked in %s: %v (at %s)", e.Plugin, e.Method, e.Value, e.Source)
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
	plugin    *identity // the one that is called now, or was last
	calling   bool      // it has not returned
	verbose   bool      // plugins get loggers with their names
	point     bool      // the pass is the run of an extension point
	record    *callRecord
	checked   []checkedObject // by the plugin that is called now

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
	r.point = true
	if f.options.Metrics != nil {
		r.observePoint, r.pointStart = true, f.options.Clock.Now()
	}
	return r
}

// consult is called before a plugin is asked something that is no run of an extension point, and consulted after it.
func (r *run) consult(plugin *identity) {
	r.plugin, r.calling = plugin, true
	if r.record == nil && (r.point || plugin.foreign) {
		r.record = r.framework.options.Calls.begin(r.method, r.pod)
	}
	if r.record != nil {
		r.record.plugin.Store(plugin)
	}
	if r.framework.options.CheckObjects && plugin.foreign {
		r.checked = append(r.checked[:0], r.framework.checkPod(plugin, r.pod))
	}
}

func (r *run) consulted() {
	r.calling = false
	if len(r.checked) > 0 {
		r.framework.unchanged(r.method, r.plugin, r.pod, r.checked...)
		r.checked = r.checked[:0]
	}
	if r.record != nil && r.point { // other passes end soon
		r.record.plugin.Store(nil)
	}
}

// enter is called before every call of a plugin, and returns the context for it.
func (r *run) enter(ctx context.Context, plugin *identity) context.Context {
	r.consult(plugin)
	if r.observePlugin {
		r.pluginStart = r.framework.options.Clock.Now()
	}
	if !r.verbose {
		return ctx
	}
	logger := klog.LoggerWithName(klog.LoggerWithName(klog.FromContext(ctx), string(r.method)), plugin.name)
	return klog.NewContext(ctx, logger)
}

// leave is called after every call of a plugin.
func (r *run) leave(status *fwk.Status) {
	r.consulted()
	if r.observePlugin {
		duration := r.framework.options.Clock.Since(r.pluginStart)
		r.framework.options.Metrics.PluginDuration(r.plugin.name, r.method, codeName(status.Code()), duration)
	}
}

// end must be deferred itself, not called by a deferred function. If a plugin panicked, it makes *status an error. If a
// plugin is ending the goroutine, which cannot be stopped, the error is noted for [Calls.TakeEnded].
func (r *run) end(status **fwk.Status) {
	if r.record != nil {
		r.framework.options.Calls.end(r.record)
	}
	if value := recover(); value != nil {
		err := r.framework.panicked(r.method, r.plugin, r.pod, value)
		*status = fwk.AsStatus(err).WithPlugin(err.Plugin)
		if r.calling {
			r.leave(*status)
		}
	} else if r.calling {
		err := r.framework.ended(r.method, r.plugin, r.pod)
		r.framework.options.Calls.noteEnded(r.pod, err)
		r.leave(fwk.AsStatus(err))
	}
	if r.observePoint {
		f := r.framework
		duration := f.options.Clock.Since(r.pointStart)
		f.options.Metrics.ExtensionPointDuration(r.method, codeName((*status).Code()), f.ProfileName(), duration)
	}
}

// call covers a single call outside of a pass: it calls do, which calls the plugin, and returns an error if the plugin
// panics or ends the goroutine. The pod may be nil.
func (f *Framework) call(method Method, plugin *identity, pod *v1.Pod, do func()) (err error) {
	defer f.guard(method, plugin, pod, &err)
	record := f.options.Calls.begin(method, pod)
	defer f.options.Calls.end(record)
	record.plugin.Store(plugin)
	if checked := f.checkPod(plugin, pod); checked.pod != nil {
		defer func() { f.unchanged(method, plugin, pod, checked) }()
	}
	if !isolate(do) {
		return f.ended(method, plugin, pod)
	}
	return nil
}

// callOwn is call for a plugin by its name, without a goroutine for those of this module.
func (f *Framework) callOwn(method Method, name string, pod *v1.Pod, do func()) (err error) {
	plugin := f.identities[name]
	if plugin.foreign {
		return f.call(method, plugin, pod, do)
	}
	defer f.guard(method, plugin, pod, &err)
	do()
	return nil
}

// guard covers a single call of a plugin that neither ends its goroutine nor fails to return, as none of this module does.
// It must be deferred itself. The pod may be nil.
func (f *Framework) guard(method Method, plugin *identity, pod *v1.Pod, err *error) {
	if value := recover(); value != nil {
		*err = f.panicked(method, plugin, pod, value)
	}
}

// isolate calls do in a goroutine of its own, and reports whether it returned rather than end that goroutine. A panic is
// raised again in the caller's.
func isolate(do func()) (returned bool) {
	var caught *workerPanic
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if value := recover(); value != nil {
				caught = asWorkerPanic(value)
			}
		}()
		do()
		returned = true
	}()
	<-done
	if caught != nil {
		panic(caught)
	}
	return returned
}

// contain is Contain if foreign plugins take part, and otherwise only calls do.
func (f *Framework) contain(pod *v1.Pod, foreign bool, do func() *fwk.Status) *fwk.Status {
	if !foreign {
		return do()
	}
	return f.Contain(pod, do)
}

// Contain calls do, which calls methods of the framework for a pod, in a goroutine of its own, and returns what do returns. If
// a plugin ends that goroutine (runtime.Goexit, t.FailNow), the status is an Error with a [*PanicError] that names the plugin.
func (f *Framework) Contain(pod *v1.Pod, do func() *fwk.Status) (status *fwk.Status) {
	if isolate(func() { status = do() }) {
		return status
	}
	err := f.options.Calls.TakeEnded(pod)
	if err == nil {
		err = ErrGoroutineEnded
	}
	status = fwk.AsStatus(err)
	if culprit := (*PanicError)(nil); errors.As(err, &culprit) {
		status = status.WithPlugin(culprit.Plugin)
	}
	return status
}

func (f *Framework) panicked(method Method, plugin *identity, pod *v1.Pod, value any) *PanicError {
	if plugin == nil {
		plugin = &identity{}
	}
	pcs, stack := callers(), debug.Stack()
	if worker, ok := value.(*workerPanic); ok {
		value, pcs, stack = worker.value, worker.pcs, worker.stack
	}
	err := &PanicError{Plugin: plugin.name, Method: method, Value: value, Source: plugin.sourceOf(pcs)}
	f.options.Logger.Error(err, "Plugin panicked", "profile", f.ProfileName(), "pod", klog.KObj(pod), "stack", string(stack))
	f.report(method, plugin.name, pod, err)
	return err
}

func (f *Framework) ended(method Method, plugin *identity, pod *v1.Pod) *PanicError {
	err := &PanicError{Plugin: plugin.name, Method: method, Value: ErrGoroutineEnded}
	f.options.Logger.Error(err, "Plugin ended its goroutine", "profile", f.ProfileName(), "pod", klog.KObj(pod))
	f.report(method, plugin.name, pod, err)
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
