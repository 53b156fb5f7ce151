// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"errors"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/rouse-scheduler/rouse/simulate"
)

// Transition is something that happens to an object. Make one with [Added], [Updated] or [Deleted].
type Transition struct {
	before, after apiruntime.Object
}

// Added is an object that comes into being, such as a node that joins the cluster.
func Added(object apiruntime.Object) Transition { return Transition{after: object} }

// Updated is an object that changes. A pod that is given a node changes, too.
func Updated(before, after apiruntime.Object) Transition {
	return Transition{before: before, after: after}
}

// Deleted is an object that goes away.
func Deleted(object apiruntime.Object) Transition { return Transition{before: object} }

// String says what happens, such as "Node n1 is updated".
func (tr Transition) String() string {
	switch {
	case tr.before == nil && tr.after == nil:
		return "nothing happens"
	case tr.before == nil:
		return describeObject(tr.after) + " is added"
	case tr.after == nil:
		return describeObject(tr.before) + " is deleted"
	}
	return describeObject(tr.after) + " is updated"
}

// object is the object in its latest state.
func (tr Transition) object() apiruntime.Object {
	if tr.after != nil {
		return tr.after
	}
	return tr.before
}

// check reports whether the transition can be made.
func (tr Transition) check() error {
	if tr.object() == nil {
		return errors.New("it has no object; create it with Added, Updated or Deleted")
	}
	if tr.before != nil && tr.after != nil && identify(tr.before) != identify(tr.after) {
		return fmt.Errorf("it is about two objects, %s and %s", describeObject(tr.before), describeObject(tr.after))
	}
	return nil
}

// perform makes the transition in a cluster.
func (tr Transition) perform(cluster *simulate.Cluster) error {
	switch {
	case tr.before == nil:
		return cluster.Create(tr.after)
	case tr.after == nil:
		return cluster.Delete(tr.before)
	}
	return cluster.Update(tr.after)
}

// startOf returns the options with the object as it is before a transition.
func (o Options) startOf(tr Transition) Options {
	if tr.before == nil {
		return o
	}
	switch before := tr.before.(type) {
	case *v1.Node:
		o.Nodes = withObject(o.Nodes, before)
	case *v1.Pod:
		o.Pods = withObject(o.Pods, before)
	default:
		o.Objects = withObject(o.Objects, before)
	}
	return o
}

// withObject returns a new slice in which an object takes the place of another version of it, or is at the end.
func withObject[O apiruntime.Object](objects []O, object O) []O {
	changed := make([]O, 0, len(objects)+1)
	placed := false
	for _, other := range objects {
		if identify(other) == identify(object) {
			other, placed = object, true
		}
		changed = append(changed, other)
	}
	if !placed {
		changed = append(changed, object)
	}
	return changed
}

// identity tells objects apart.
type identity struct {
	kind schema.GroupVersionKind
	name types.NamespacedName
}

func identify(object apiruntime.Object) identity {
	id := identity{kind: kindOf(object)}
	if accessor, err := meta.Accessor(object); err == nil {
		id.name = types.NamespacedName{Namespace: accessor.GetNamespace(), Name: accessor.GetName()}
	}
	return id
}

// kindOf returns the kind of an object, whether the object says it or its type does.
func kindOf(object apiruntime.Object) schema.GroupVersionKind {
	if kind := object.GetObjectKind().GroupVersionKind(); !kind.Empty() {
		return kind
	}
	if kinds, _, err := scheme.Scheme.ObjectKinds(object); err == nil {
		return kinds[0]
	}
	return schema.GroupVersionKind{Kind: fmt.Sprintf("%T", object)}
}

// describeObject returns the kind and the name, such as "Pod default/web".
func describeObject(object apiruntime.Object) string {
	id := identify(object)
	return id.kind.Kind + " " + strings.TrimPrefix(id.name.String(), "/")
}
