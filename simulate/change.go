// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"cmp"

	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// Change is an object that was created, changed or deleted.
type Change struct {
	Resource schema.GroupVersionResource
	// Kind is empty for custom kinds.
	Kind string
	// Namespace is empty for objects that belong to none.
	Namespace, Name string
	// Old and New are the versions before and after, nil where there is none. A pod that finished counts as deleted.
	// They must not be changed.
	Old, New apiruntime.Object
	// Minor tells that only the status of a pod was written, as after a failed attempt.
	Minor bool
}

// Object names what changed, such as "Node n1".
func (c Change) Object() string {
	k := kind{GroupVersionKind: schema.GroupVersionKind{Kind: c.Kind}}
	if c.Kind == "" {
		k.Kind = c.Resource.GroupResource().String()
	}
	return k.describe(c.Namespace, c.Name)
}

// String says what happened, such as "Node n1 was changed".
func (c Change) String() string {
	switch {
	case c.Old == nil:
		return c.Object() + " was added"
	case c.New == nil:
		return c.Object() + " was deleted"
	default:
		return c.Object() + " was changed"
	}
}

// Events returns what the change is to a waiting pod: the events that the scheduler announces, or would announce if a
// plugin waited for them. A change that can matter to no pod, such as a heartbeat of a node, has none.
//
// A pod without a node that comes, changes or goes is an event of the resource UnscheduledPod for all other pods, which
// plugins can register but the scheduler never announces.
func (c Change) Events(waiting types.UID) []fwk.ClusterEvent {
	switch named := cmp.Or(c.New, c.Old).(type) {
	case *v1.Node:
		if c.Old != nil && c.New != nil {
			return framework.NodeEvents(c.Old.(*v1.Node), named)
		}
	case *v1.Pod:
		return c.podEvents(named, waiting)
	}
	return c.of(c.resource(), c.action())
}

// podEvents tells the events of a pod, given in its latest version.
func (c Change) podEvents(pod *v1.Pod, waiting types.UID) []fwk.ClusterEvent {
	old, _ := c.Old.(*v1.Pod)
	current, _ := c.New.(*v1.Pod)
	switch {
	case current == nil && (pod.Spec.NodeName != "" || pod.Status.NominatedNodeName != ""):
		return c.of(fwk.AssignedPod, fwk.Delete)
	case old == nil && pod.Spec.NodeName != "", old != nil && old.Spec.NodeName == "" && pod.Spec.NodeName != "":
		return c.of(fwk.AssignedPod, fwk.Add)
	case old != nil && current != nil:
		return framework.PodEvents(old, current, current.UID == waiting)
	}
	return c.of(fwk.UnscheduledPod, c.action())
}

func (c Change) of(resource fwk.EventResource, action fwk.ActionType) []fwk.ClusterEvent {
	return []fwk.ClusterEvent{{Resource: resource, ActionType: action}}
}

func (c Change) action() fwk.ActionType {
	switch {
	case c.Old == nil:
		return fwk.Add
	case c.New == nil:
		return fwk.Delete
	default:
		return fwk.Update
	}
}

// resource returns what events of the kind are registered for: the name in the table of events, or else
// plural.version.group.
func (c Change) resource() fwk.EventResource {
	for _, row := range framework.Resources() {
		if row.Informer == c.Resource {
			return row.Name
		}
	}
	return framework.CustomResource(c.Resource)
}
