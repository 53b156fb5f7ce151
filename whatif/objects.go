// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package whatif

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rouse-scheduler/rouse/whatif/internal/trie"
)

// objects are all objects of a cluster at one moment. They never change.
type objects struct {
	trie.Map[key, object]
	// uids has the pod of each UID, by which plugins tell pods apart.
	uids trie.Map[types.UID, key]
	// defaultClass is the class of pods that name none; nil if there is none.
	defaultClass *schedulingv1.PriorityClass
}

func noObjects() objects {
	return objects{Map: trie.New[key, object](), uids: trie.New[types.UID, key]()}
}

// with returns the objects with one of them added or replaced.
func (all objects) with(k key, o object) objects {
	if pod, isPod := o.(*v1.Pod); isPod {
		if before := all.pod(k); before != nil && before.UID != pod.UID {
			all.uids = all.uids.Delete(before.UID)
		}
		all.uids = all.uids.Set(pod.UID, k)
	}
	all.Map = all.Set(k, o)
	return all.withDefaultClass(k, o)
}

// without returns the objects without one of them.
func (all objects) without(k key) objects {
	before, _ := all.Get(k)
	if pod, isPod := before.(*v1.Pod); isPod {
		all.uids = all.uids.Delete(pod.UID)
	}
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

// conflict returns why an object can't be among the others: another pod has the UID. It is nil if nothing is wrong.
func (all objects) conflict(k key, o object) error {
	pod, isPod := o.(*v1.Pod)
	if !isPod {
		return nil
	}
	if other, taken := all.uids.Get(pod.UID); taken && other != k {
		return fmt.Errorf("it has the UID of %s; remove the UID from a copy of a pod", other)
	}
	return nil
}

// pod returns a pod, nil if there is none of the name.
func (all objects) pod(k key) *v1.Pod {
	o, _ := all.Get(k)
	pod, _ := o.(*v1.Pod)
	return pod
}
