// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package whatif

import (
	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rouse-scheduler/rouse/simulate"
)

// complete returns an object as an API server would store it. One with a UID comes from an API server and is returned as it
// is, unless its namespace is missing. Before is the object that it replaces, nil if there is none.
func (k *kinds) complete(all objects, at key, o, before object) object {
	if o.GetUID() != "" && o.GetNamespace() == at.namespace {
		return o
	}
	o = o.DeepCopyObject().(object)
	o.SetNamespace(at.namespace)
	if o.GetUID() != "" {
		return o
	}
	if before != nil {
		o.SetUID(before.GetUID())
	} else {
		o.SetUID(types.UID("whatif " + at.String()))
	}
	simulate.SetDefaults(o)
	if pod, ok := o.(*v1.Pod); ok {
		k.setPriority(all, pod)
	}
	return o
}

// setPriority gives a pod the priority of its class, or of the default class. A class that does not exist gives none.
func (k *kinds) setPriority(all objects, pod *v1.Pod) {
	if pod.Spec.Priority != nil {
		return
	}
	class := all.priorityClass(k.classes, pod.Spec.PriorityClassName)
	if class == nil {
		return
	}
	value := class.Value
	pod.Spec.PriorityClassName, pod.Spec.Priority = class.Name, &value
	if pod.Spec.PreemptionPolicy == nil {
		pod.Spec.PreemptionPolicy = class.PreemptionPolicy
	}
}

// priorityClass returns the class of a name, for the empty name the default one; nil if there is none.
func (all objects) priorityClass(classes *kind, name string) *schedulingv1.PriorityClass {
	switch name {
	case "system-cluster-critical":
		return classOf(name, 2_000_000_000)
	case "system-node-critical":
		return classOf(name, 2_000_001_000)
	case "":
		return all.defaultClass
	}
	found, _ := all.Get(key{kind: classes, name: name})
	class, _ := found.(*schedulingv1.PriorityClass)
	return class
}

func classOf(name string, value int32) *schedulingv1.PriorityClass {
	class := &schedulingv1.PriorityClass{Value: value}
	class.Name = name
	return class
}
