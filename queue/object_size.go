// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"reflect"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What parts of API objects take, in bytes, names and values included.
const (
	smallObject = 1 << 10
	podSize     = 2 << 10
	nodeSize    = 3 << 10
	container   = 1 << 10
	volume      = 512
	image       = 512
	entry       = 128 // of a map, or of a list of small things
)

// objectSize is about how many bytes an object of an event takes, rather too many than too few. It looks at what makes
// objects large, and not at all of them.
func objectSize(object any) int {
	meta, ok := object.(metav1.Object)
	if !ok || reflect.ValueOf(object).IsNil() {
		return 0
	}
	size := smallObject + entry*(len(meta.GetLabels())+len(meta.GetAnnotations()))
	for _, value := range meta.GetAnnotations() {
		size += len(value)
	}
	for _, manager := range meta.GetManagedFields() {
		size += entry
		if manager.FieldsV1 != nil {
			size += len(manager.FieldsV1.GetRawBytes())
		}
	}
	switch object := object.(type) {
	case *v1.Pod:
		containers := len(object.Spec.InitContainers) + len(object.Spec.Containers) + len(object.Status.ContainerStatuses)
		size += podSize + container*containers + volume*len(object.Spec.Volumes) + entry*len(object.Status.Conditions)
	case *v1.Node:
		size += nodeSize + image*len(object.Status.Images) + entry*len(object.Status.Capacity)
	}
	return size
}
