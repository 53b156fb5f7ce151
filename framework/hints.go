// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
)

// HintClassPlugin is an optional interface in addition to the official ones, for plugins whose queueing hints read only a part
// of the waiting pod. Pods of one class get one call of a hint for an event. A plugin without it falls back to what it
// signs (fwk.SignPlugin), and, unless it is a [FilterKeyPlugin], the namespace of the pod; one that does not sign, or signs host
// ports without their addresses, is called pod by pod.
type HintClassPlugin interface {
	fwk.Plugin
	// HintClass returns the same class for pods that every hint of the plugin treats alike, and false for a pod
	// whose hints must be called for it alone. It may be called concurrently.
	HintClass(pod *v1.Pod) (class string, ok bool)
}

// HintObjects converts the two objects of an event for a queueing hint; T is an API type such as v1.Node. An absent object
// gives a nil pointer, and a deleted one whose last state was missed is unwrapped. An object of another type is an
// error, with which a hint returns fwk.Queue, so that no pod stays asleep because of it.
func HintObjects[T any](oldObj, newObj any) (oldTyped, newTyped *T, err error) {
	if tombstone, ok := oldObj.(clientcache.DeletedFinalStateUnknown); ok {
		oldObj = tombstone.Obj
	}
	if oldTyped, err = hintObject[T](oldObj); err != nil {
		return nil, nil, fmt.Errorf("old object of the event: %w", err)
	}
	if newTyped, err = hintObject[T](newObj); err != nil {
		return nil, nil, fmt.Errorf("new object of the event: %w", err)
	}
	return oldTyped, newTyped, nil
}

func hintObject[T any](obj any) (*T, error) {
	if obj == nil {
		return nil, nil
	}
	typed, ok := obj.(*T)
	if !ok {
		return nil, fmt.Errorf("expected %T, got %T", typed, obj)
	}
	return typed, nil
}

// HintFor turns a function of typed objects into a queueing hint; T is an API type such as v1.Node.
func HintFor[T any](hint func(logger klog.Logger, pod *v1.Pod, oldObj, newObj *T) (fwk.QueueingHint, error)) fwk.QueueingHintFn {
	return func(logger klog.Logger, pod *v1.Pod, oldObj, newObj any) (fwk.QueueingHint, error) {
		oldTyped, newTyped, err := HintObjects[T](oldObj, newObj)
		if err != nil {
			return fwk.Queue, err
		}
		return hint(logger, pod, oldTyped, newTyped)
	}
}
