// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/simulate"
)

// Wakes reports whether the plugin would have a pod woken that it rejected: whether one of the events that the scheduler
// announces of a transition is registered by the plugin, and its hint does not say QueueSkip. A hint that fails fails
// the test. It does not matter whether the objects are in the options.
func (f *Framework) Wakes(pod *v1.Pod, transition Transition) bool {
	f.t.Helper()
	if err := transition.check(); err != nil {
		f.t.Fatalf("asking hints about a transition: %v", err)
	}
	wakes := false
	for _, event := range transition.events(pod.UID) {
		before, after := delivered(event.Resource, transition.before), delivered(event.Resource, transition.after)
		for _, registration := range f.Registrations()[f.name] {
			switch {
			case !framework.Matches(registration.Event, event):
			case registration.QueueingHintFn == nil:
				wakes = true
			default:
				hint, err := registration.QueueingHintFn(f.logger, pod, before, after)
				if err != nil {
					f.t.Errorf("the hint of plugin %s for %s failed when %v: %v", f.name, event.Label(), transition, err)
				}
				wakes = wakes || err != nil || hint == fwk.Queue
			}
		}
	}
	return wakes
}

// events returns the events that the scheduler announces of a transition to a waiting pod.
func (tr Transition) events(waiting types.UID) []fwk.ClusterEvent {
	events := changeOf(tr.before, tr.after).Events(waiting)
	// Plugins can register events of other waiting pods, but the scheduler never announces them.
	return slices.DeleteFunc(events, func(event fwk.ClusterEvent) bool { return event.Resource == fwk.UnscheduledPod })
}

// delivered returns an object as a hint gets it with an event of a resource: without its Go type if the resource is none
// of the table of events, and an untyped nil if there is no object.
func delivered(resource fwk.EventResource, object apiruntime.Object) any {
	_, untyped := framework.ParseCustomResource(resource)
	_, already := object.(*unstructured.Unstructured)
	switch {
	case object == nil:
		return nil
	case !untyped || already:
		return object
	}
	// Only values that cannot be written as JSON fail, and API types have none.
	fields, _ := apiruntime.DefaultUnstructuredConverter.ToUnstructured(object)
	converted := &unstructured.Unstructured{Object: fields}
	converted.SetGroupVersionKind(kindOf(object))
	return converted
}

func changeOf(before, after apiruntime.Object) simulate.Change {
	object := after
	if object == nil {
		object = before
	}
	kind := kindOf(object)
	resource, _ := meta.UnsafeGuessKindToResource(kind)
	return simulate.Change{Resource: resource, Kind: kind.Kind, Old: before, New: after}
}

// resourceOf returns the name under which plugins register events of objects that are not pods.
func resourceOf(object apiruntime.Object) fwk.EventResource {
	return changeOf(nil, object).Events("")[0].Resource
}
