// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Resources returns quantities of resources, given as pairs of a name and a quantity; nil for no pairs. Like the builders it
// panics if the text is wrong.
func Resources(pairs ...string) v1.ResourceList {
	if len(pairs) == 0 {
		return nil
	}
	if len(pairs)%2 != 0 {
		panic(fmt.Sprintf("objects: %q are no pairs of a resource and a quantity", pairs))
	}
	list := v1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		quantity, err := resource.ParseQuantity(pairs[i+1])
		if err != nil {
			panic(fmt.Sprintf("objects: %q is no quantity of %s: %v", pairs[i+1], pairs[i], err))
		}
		list[v1.ResourceName(pairs[i])] = quantity
	}
	return list
}

// setQuantities sets resources in a list, which may be nil.
func setQuantities(list *v1.ResourceList, pairs []string) {
	for name, quantity := range Resources(pairs...) {
		if *list == nil {
			*list = v1.ResourceList{}
		}
		(*list)[name] = quantity
	}
}
