// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime

// This file has what NewFramework (new_framework.go) calls where it fills the event map: it asks every plugin that can
// reject a pod for its events, and registers them.

import (
	"context"
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
)

// ExtenderName is the name under which all extenders together stand in the event map, and as the rejector of pods that
// an extender turned down.
const ExtenderName = "Extender"

// canReject reports whether a pod can be left waiting on this plugin. Failures at the other extension points are treated
// as temporary, so that a pod is tried again without an event.
func canReject(plugin fwk.Plugin) bool {
	return extends[fwk.PreEnqueuePlugin](plugin) ||
		extends[fwk.PreFilterPlugin](plugin) ||
		extends[fwk.FilterPlugin](plugin) ||
		extends[fwk.ReservePlugin](plugin) ||
		extends[fwk.PermitPlugin](plugin)
}

// eventsToRegister calls EventsToRegister, for NewFramework, which fills the event map with the result.
func (f *Framework) eventsToRegister(ctx context.Context, extensions fwk.EnqueueExtensions) (events []fwk.ClusterEventWithHint, err error) {
	ended := f.call(MethodEventsToRegister, f.identities[extensions.Name()], nil, func() {
		events, err = extensions.EventsToRegister(ctx)
	})
	return events, errors.Join(err, ended)
}

// clusterEvents returns the events without their hints.
func clusterEvents(registered []fwk.ClusterEventWithHint) []fwk.ClusterEvent {
	events := make([]fwk.ClusterEvent, 0, len(registered))
	for _, r := range registered {
		events = append(events, r.Event)
	}
	return events
}

// recoverHints returns what a plugin registered, with hints that recover from panics.
func (f *Framework) recoverHints(plugin fwk.Plugin, registered []fwk.ClusterEventWithHint) []fwk.ClusterEventWithHint {
	who := f.identities[plugin.Name()]
	recovering := slices.Clone(registered)
	for i := range recovering {
		if hint := recovering[i].QueueingHintFn; hint != nil {
			recovering[i].QueueingHintFn = f.recoverHint(who, hint)
		}
		if hint := recovering[i].PreQueueingHintFn; hint != nil {
			recovering[i].PreQueueingHintFn = f.recoverPreHint(who, hint)
		}
	}
	return recovering
}

// recoverHint wraps a hint so that one that panics, or ends its goroutine, returns Queue, and an error that says why.
func (f *Framework) recoverHint(plugin *identity, hint fwk.QueueingHintFn) fwk.QueueingHintFn {
	if !plugin.outOfTree {
		return func(logger klog.Logger, pod *v1.Pod, oldObj, newObj any) (advice fwk.QueueingHint, err error) {
			advice = fwk.Queue
			defer f.recoverPanic(MethodQueueingHint, plugin, pod, &err)
			return hint(logger, pod, oldObj, newObj)
		}
	}
	return func(logger klog.Logger, pod *v1.Pod, oldObj, newObj any) (fwk.QueueingHint, error) {
		var advice fwk.QueueingHint
		var err error
		ended := f.call(MethodQueueingHint, plugin, pod, func() { advice, err = hint(logger, pod, oldObj, newObj) })
		if ended != nil {
			return fwk.Queue, ended
		}
		return advice, err
	}
}

// recoverPreHint is recoverHint for a PreQueueingHint; instead of Queue, the result is that all pods are concerned.
func (f *Framework) recoverPreHint(plugin *identity, hint fwk.PreQueueingHintFn) fwk.PreQueueingHintFn {
	return func(logger klog.Logger, oldObj, newObj any) (fwk.PreQueueingHintResult, error) {
		var narrowed fwk.PreQueueingHintResult
		var err error
		ended := f.call(MethodPreQueueingHint, plugin, nil, func() { narrowed, err = hint(logger, oldObj, newObj) })
		if ended != nil {
			return fwk.PreQueueingHintResult{AllPods: true}, ended
		}
		if err != nil {
			f.report(MethodPreQueueingHint, plugin.name, nil, fmt.Errorf("running %s: %w", MethodPreQueueingHint, err))
		}
		return narrowed, err
	}
}
