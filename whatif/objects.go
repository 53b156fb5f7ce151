// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package whatif

import (
	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"

	"github.com/rouse-scheduler/rouse/whatif/internal/trie"
)

// objects are all objects of a cluster at one moment. They never change.
type objects struct {
	trie.Map[key, object]
	// defaultClass is the class of pods that name none; nil if there is none.
	defaultClass *schedulingv1.PriorityClass
}

func noObjects() objects { return objects{Map: trie.New[key, object]()} }

// with returns the objects with one of them added or replaced.
func (all objects) with(k key, o object) objects {
	all.Map = all.Set(k, o)
	return all.withDefaultClass(k, o)
}

// without returns the objects without one of them.
func (all objects) without(k key) objects {
	before, _ := all.Get(k)
	all.Map = all.Delete(k)
	return all.withDefaultClass(k, before)
}

// withDefaultClass finds the default class again if a class has changed.
func (all objects) withDefaultClass(changed key, o object) objects {
	if _, isClass := o.(*schedulingv1.PriorityClass); !isClass {
		return all
	}
	all.defaultClass = nil
	for k, o := range all.All() {
		class, ok := o.(*schedulingv1.PriorityClass)
		if !ok || k.kind != changed.kind || !class.GlobalDefault {
			continue
		}
		best := all.defaultClass
		if best == nil || class.Value < best.Value || class.Value == best.Value && class.Name < best.Name {
			all.defaultClass = class
		}
	}
	return all
}

// pod returns a pod, nil if there is none of the name.
func (all objects) pod(k key) *v1.Pod {
	o, _ := all.Get(k)
	pod, _ := o.(*v1.Pod)
	return pod
}
