// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// sharedResources has resource lists by what is written in them. Clusters have many pods and nodes, but few different
// lists, which are a large part of what an object takes.
type sharedResources map[string]v1.ResourceList

// share lets a pod or a node use lists that others have too. They must not be changed any more.
func (r sharedResources) share(o object) {
	switch o := o.(type) {
	case *v1.Pod:
		for _, containers := range [][]v1.Container{o.Spec.InitContainers, o.Spec.Containers} {
			for i := range containers {
				resources := &containers[i].Resources
				resources.Requests, resources.Limits = r.shared(resources.Requests), r.shared(resources.Limits)
			}
		}
	case *v1.Node:
		o.Status.Capacity, o.Status.Allocatable = r.shared(o.Status.Capacity), r.shared(o.Status.Allocatable)
	}
}

// shared returns the first list that was equal to the given one.
func (r sharedResources) shared(list v1.ResourceList) v1.ResourceList {
	if len(list) == 0 {
		return list
	}
	var key strings.Builder
	for _, name := range slices.Sorted(maps.Keys(list)) {
		quantity := list[name]
		key.WriteString(string(name) + "\x00" + quantity.String() + "\x00")
	}
	if known, found := r[key.String()]; found {
		return known
	}
	r[key.String()] = list
	return list
}
