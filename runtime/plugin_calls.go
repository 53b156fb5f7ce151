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

// pluginCalls are consecutive calls of one method of plugins. It knows which plugin is being called, so that one deferred
// end covers the panics of all of them, and costs no allocation.
type pluginCalls struct {
	framework      *Framework
	method         Method
	pod            *v1.Pod
	plugin         *identity // the one that is called now, or was last
	calling        bool      // it has not returned
	verbose        bool      // plugins get loggers with their names
	extensionPoint bool      // the calls are those of an extension point
	record         *callRecord
	noted          bool            // the record has the plugin
	checked        []checkedObject // those that the plugin that is called now must leave as they are; by default the pod

	observeExtensionPoint bool
	observePlugin         bool
	extensionPointStart   time.Time
	pluginStart           time.Time
}

// startCalls begins calls whose duration as a whole is not measured.
func (f *Framework) startCalls(ctx context.Context, method Method, state fwk.CycleState, pod *v1.Pod) pluginCalls {
	return pluginCalls{
		framework:     f,
		method:        method,
		pod:           pod,
		verbose:       klog.FromContext(ctx).V(4).Enabled(),
		observePlugin: f.options.Metrics != nil && state.ShouldRecordPluginMetrics(),
	}
}

// startExtensionPoint begins the calls of an extension point, whose duration as a whole is measured.
func (f *Framework) startExtensionPoint(ctx context.Context, method Method, state fwk.CycleState, pod *v1.Pod) pluginCalls {
	c := f.startCalls(ctx, method, state, pod)
	c.extensionPoint = true
	if f.options.Metrics != nil {
		c.observeExtensionPoint, c.extensionPointStart = true, f.options.Execution.Clock.Now()
	}
	return c
}

// beginCall is called before a call whose duration is not measured, and endCall after it. In-tree plugins are not recorded: such
// calls, as those for keys, only read what is there.
func (c *pluginCalls) beginCall(plugin *identity) {
	c.plugin, c.calling = plugin, true
	if plugin.outOfTree {
		c.note(plugin)
	}
	if len(c.checked) == 0 && c.pod != nil && c.framework.checksObjects(plugin) {
		c.checked = append(c.checked, checkPod(c.pod))
	}
}

// note records the plugin that is called.
func (c *pluginCalls) note(plugin *identity) {
	if c.record == nil {
		c.record = c.framework.options.Execution.Calls.begin(c.method, c.pod)
	}
	c.record.plugin.Store(plugin)
	c.noted = true
}

func (c *pluginCalls) endCall() {
	c.calling = false
	if len(c.checked) > 0 {
		c.framework.unchanged(c.method, c.plugin, c.pod, c.checked...)
		c.checked = nil
	}
	if c.noted && c.extensionPoint { // others end soon
		c.record.plugin.Store(nil)
		c.noted = false
	}
}

// enter is called before every call of a plugin, and returns the context for it.
func (c *pluginCalls) enter(ctx context.Context, plugin *identity) context.Context {
	c.beginCall(plugin)
	if c.extensionPoint && !plugin.outOfTree {
		c.note(plugin)
	}
	if c.observePlugin {
		c.pluginStart = c.framework.options.Execution.Clock.Now()
	}
	if !c.verbose {
		return ctx
	}
	logger := klog.LoggerWithName(klog.LoggerWithName(klog.FromContext(ctx), string(c.method)), plugin.name)
	return klog.NewContext(ctx, logger)
}

// leave is called after every call of a plugin.
func (c *pluginCalls) leave(status *fwk.Status) {
	c.endCall()
	if c.observePlugin {
		duration := c.framework.options.Execution.Clock.Since(c.pluginStart)
		c.framework.options.Metrics.PluginDuration(c.plugin.name, c.method, codeName(status.Code()), duration)
	}
}

// end must be deferred itself, not called by a deferred function. If a plugin panicked, it makes *status an error. If a
// plugin is ending the goroutine, which cannot be stopped, the error is noted for [Calls.TakeEnded].
func (c *pluginCalls) end(status **fwk.Status) {
	if c.record != nil {
		c.framework.options.Execution.Calls.end(c.record)
	}
	if value := recover(); value != nil {
		err := c.framework.panicked(c.method, c.plugin, c.pod, value)
		*status = fwk.AsStatus(err).WithPlugin(err.Plugin)
		if c.calling {
			c.leave(*status)
		}
	} else if c.calling {
		err := c.framework.ended(c.method, c.plugin, c.pod)
		c.framework.options.Execution.Calls.noteEnded(c.pod, err)
		c.leave(fwk.AsStatus(err))
	}
	if c.observeExtensionPoint {
		f := c.framework
		duration := f.options.Execution.Clock.Since(c.extensionPointStart)
		f.options.Metrics.ExtensionPointDuration(c.method, codeName((*status).Code()), f.ProfileName(), duration)
	}
}

// call covers a single call: it calls do, which calls the plugin, and returns an error if the plugin
// panics or ends the goroutine. The pod may be nil.
func (f *Framework) call(method Method, plugin *identity, pod *v1.Pod, do func()) error {
	return f.callWithin(0, method, plugin, pod, do)
}

// callWithin is call with a limit in real time, unless that is zero. When it is exceeded, do goes on, and nothing that do writes
// may be read.
func (f *Framework) callWithin(limit time.Duration, method Method, plugin *identity, pod *v1.Pod, do func()) (err error) {
	defer f.recoverPanic(method, plugin, pod, &err)
	record := f.options.Execution.Calls.begin(method, pod)
	defer f.options.Execution.Calls.end(record)
	record.plugin.Store(plugin)
	if pod != nil && f.checksObjects(plugin) {
		checked := checkPod(pod)
		defer func() { f.unchanged(method, plugin, pod, checked) }()
	}
	returned, inTime := isolateWithin(limit, do)
	switch {
	case !inTime:
		return fmt.Errorf("plugin %q did not return from %s within %v; if it waits for informers of custom resources, "+
			"pass a scheme with their types, or wait in the methods of the plugin", plugin.name, method, limit)
	case !returned:
		return f.ended(method, plugin, pod)
	}
	return nil
}

// callOwn is call for a plugin by its name, without a goroutine for those of this module.
func (f *Framework) callOwn(method Method, name string, pod *v1.Pod, do func()) (err error) {
	plugin := f.identities[name]
	if plugin.outOfTree {
		return f.call(method, plugin, pod, do)
	}
	defer f.recoverPanic(method, plugin, pod, &err)
	do()
	return nil
}

// recoverPanic covers a single call of a plugin that neither ends its goroutine nor fails to return, as none of this module does.
// It must be deferred itself. The pod may be nil.
func (f *Framework) recoverPanic(method Method, plugin *identity, pod *v1.Pod, err *error) {
	if value := recover(); value != nil {
		*err = f.panicked(method, plugin, pod, value)
	}
}

// isolate calls do in a goroutine of its own, and reports whether it returned rather than end that goroutine. A panic is
// raised again in the caller's.
func isolate(do func()) (returned bool) {
	returned, _ = isolateWithin(0, do)
	return returned
}

// isolateWithin is isolate with a limit in real time, unless that is zero.
func isolateWithin(limit time.Duration, do func()) (returned, inTime bool) {
	var ended struct { // read only after do has ended
		caught   *workerPanic
		returned bool
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if value := recover(); value != nil {
				ended.caught = asWorkerPanic(value)
			}
		}()
		do()
		ended.returned = true
	}()
	var tooLate <-chan time.Time // never, without a limit
	if limit > 0 {
		tooLate = time.After(limit)
	}
	select {
	case <-done:
	case <-tooLate:
		return false, false
	}
	if ended.caught != nil {
		panic(ended.caught)
	}
	return ended.returned, true
}

// contain is Contain if out-of-tree plugins take part, and otherwise only calls do.
func (f *Framework) contain(pod *v1.Pod, outOfTree bool, do func() *fwk.Status) *fwk.Status {
	if !outOfTree {
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
	err := f.options.Execution.Calls.TakeEnded(pod)
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
