// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/runtime"
)

// lint looks at the registrations of the plugin, once.
func (c *requeueCheck) lint(made *observedTransition, judged map[types.UID]judgement) {
	c.t.Helper()
	for _, answer := range made.answers {
		c.reportHintFailure(answer.registration.Event, fmt.Sprintf("when %v", made), answer.err)
	}
	registrations := made.observer.plugin.Registrations()[c.name]
	if c.rejected && len(registrations) == 0 {
		c.reportf("plugin %s rejects pods, but EventsToRegister returns no event: they are only tried again after five minutes", c.name)
	}
	if c.linted || len(judged) == 0 {
		return
	}
	c.linted = true
	for _, registration := range registrations {
		if registration.QueueingHintFn == nil {
			continue
		}
		for _, call := range c.callsOf(registration.Event) {
			for _, uid := range slices.Sorted(maps.Keys(judged)) {
				_, err := registration.QueueingHintFn(klog.FromContext(made.observer.context), judged[uid].pod, call.oldObj, call.newObj)
				c.reportHintFailure(registration.Event, "for "+call.what, err)
			}
		}
	}
}

func (c *requeueCheck) reportHintFailure(event fwk.ClusterEvent, when string, err error) {
	c.t.Helper()
	var panicked *runtime.PanicError
	switch {
	case errors.As(err, &panicked):
		c.reportf("the hint of plugin %s for %s panics %s: %v", c.name, describeEvent(event), when, panicked.Value)
	case err != nil:
		c.reportf("the hint of plugin %s for %s fails %s: %v", c.name, describeEvent(event), when, err)
	}
}

// hintCall is what a hint may be called with.
type hintCall struct {
	what           string
	oldObj, newObj any
}

// callsOf returns the ways to call the hint of a registration that are easily forgotten.
func (c *requeueCheck) callsOf(event fwk.ClusterEvent) []hintCall {
	example := c.exampleOf(event.Resource)
	var calls []hintCall
	if event.ActionType&fwk.Add != 0 && example != nil {
		calls = append(calls, hintCall{"an object that was added, with a nil old object", nil, example})
	}
	if event.ActionType&fwk.Delete == 0 {
		return calls
	}
	if example != nil {
		calls = append(calls, hintCall{"an object that was deleted, with a nil new object", example, nil})
	}
	calls = append(calls, hintCall{"a deletion without any object", nil, nil})
	switch example.(type) {
	case nil, *v1.Pod, *v1.Node:
		return calls
	}
	return append(calls,
		hintCall{"a deletion with a cache.DeletedFinalStateUnknown", clientcache.DeletedFinalStateUnknown{Obj: example}, nil})
}

// exampleOf returns an object of a kind that events are about: one of a transition if there is one, otherwise an empty
// one. It is nil for a registration for all kinds.
func (c *requeueCheck) exampleOf(resource fwk.EventResource) any {
	switch resource {
	case fwk.WildCard:
		return nil
	case fwk.Pod, fwk.AssignedPod, fwk.UnscheduledPod, fwk.TargetPod:
		for _, transition := range c.transitions {
			if pod, isPod := transition.object().(*v1.Pod); isPod {
				return pod
			}
		}
		return &v1.Pod{}
	}
	for _, transition := range c.transitions {
		if resourceOf(transition.object()) == resource {
			return delivered(resource, transition.object())
		}
	}
	row, known := framework.LookupResource(resource)
	if !known {
		return &unstructured.Unstructured{Object: map[string]any{}}
	}
	version := row.Informer.GroupVersion()
	for kind := range scheme.Scheme.KnownTypes(version) {
		if plural, _ := meta.UnsafeGuessKindToResource(version.WithKind(kind)); plural != row.Informer {
			continue
		}
		if empty, err := scheme.Scheme.New(version.WithKind(kind)); err == nil {
			return empty
		}
	}
	return nil
}

// compareClasses asks the hints about the other pods of each class, too.
func (c *requeueCheck) compareClasses(made *observedTransition, judged map[types.UID]judgement) {
	c.t.Helper()
	for _, answer := range made.answers {
		if about, isPod := made.object().(*v1.Pod); answer.err != nil || isPod && about.UID == answer.pod.UID {
			continue // an event about a waiting pod itself is not shared
		}
		for _, uid := range slices.Sorted(maps.Keys(judged)) {
			other := judged[uid].pod
			if other.UID == answer.pod.UID || !made.observer.sameClass(answer.pod, other) {
				continue
			}
			hint, err := answer.registration.QueueingHintFn(klog.FromContext(made.observer.context), other, answer.oldObj, answer.newObj)
			if err == nil && hint != answer.hint {
				c.reportf("the hint of plugin %s for %s, when %v, returns %v for pod %s/%s and %v for pod %s/%s, although they are of one class: "+
					"it reads something of the pod that SignPod does not sign or HintClass leaves out",
					c.name, describeEvent(answer.registration.Event), made, answer.hint, answer.pod.Namespace, answer.pod.Name,
					hint, other.Namespace, other.Name)
			}
		}
	}
}
