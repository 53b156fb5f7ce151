// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"bytes"
	"maps"
	"reflect"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// equalObjects reports whether two objects are equal, as equality.Semantic has it. It is fast for an object and its deep copy.
func equalObjects[T v1.Pod | v1.Node](a, b *T) bool {
	return identical(reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem()) || equality.Semantic.DeepEqual(a, b)
}

// identical reports whether two values of a type consist of the same fields and elements. Values that mean the same, such as
// 1 and 1000m, or nil and an empty list, are not identical. The values must be addressable.
//
// It takes a tenth of the time of equality.Semantic.DeepEqual, and does not allocate for fields that most objects have.
func identical(a, b reflect.Value) bool {
	switch a.Kind() {
	case reflect.String:
		return a.String() == b.String()
	case reflect.Struct:
		for i := range a.NumField() {
			if !identical(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	case reflect.Pointer:
		if a.IsNil() || b.IsNil() || a.UnsafePointer() == b.UnsafePointer() {
			return a.UnsafePointer() == b.UnsafePointer()
		}
		return identical(a.Elem(), b.Elem())
	case reflect.Slice:
		return identicalSlices(a, b)
	case reflect.Map:
		return identicalMaps(a, b)
	default: // booleans, numbers, arrays
		return a.Equal(b)
	}
}

func identicalSlices(a, b reflect.Value) bool {
	if a.IsNil() != b.IsNil() || a.Len() != b.Len() {
		return false
	}
	if a.Type().Elem().Kind() == reflect.Uint8 {
		return bytes.Equal(a.Bytes(), b.Bytes())
	}
	for i := range a.Len() {
		if !identical(a.Index(i), b.Index(i)) {
			return false
		}
	}
	return true
}

func identicalMaps(a, b reflect.Value) bool {
	if a.IsNil() != b.IsNil() || a.Len() != b.Len() {
		return false
	}
	if a.Len() == 0 {
		return true
	}
	switch a := a.Addr().Interface().(type) {
	case *map[string]string:
		return maps.Equal(*a, *b.Addr().Interface().(*map[string]string))
	case *v1.ResourceList:
		return maps.Equal(*a, *b.Addr().Interface().(*v1.ResourceList))
	}
	return reflect.DeepEqual(a.Interface(), b.Interface())
}
