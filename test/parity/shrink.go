// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
)

// shrink leaves out of a case what it can while fails holds. A case that makes either side panic does not count.
func shrink[T any](c T, smaller func(T) iter.Seq[T], fails func(T) bool) T {
	for progress := true; progress; {
		progress = false
		for next := range smaller(c) {
			if survives(next, fails) {
				c, progress = next, true
				break
			}
		}
	}
	return c
}

func survives[T any](c T, fails func(T) bool) (still bool) {
	defer func() {
		if recover() != nil {
			still = false
		}
	}()
	return fails(c)
}

// without yields the lists with a half, a quarter and so on of the elements left out, down to single ones.
func without[E any](list []E) iter.Seq[[]E] {
	return func(yield func([]E) bool) {
		for size := (len(list) + 1) / 2; size > 0; size /= 2 {
			for from := 0; from < len(list); from += size {
				if !yield(slices.Delete(slices.Clone(list), from, min(from+size, len(list)))) {
					return
				}
			}
		}
	}
}

// simpler yields copies of an object, each with one field emptied or one element taken away. Names stay, and
// what an object must have to be valid.
func simpler[T apiruntime.Object](object T) iter.Seq[T] {
	return func(yield func(T) bool) {
		for i := 0; ; i++ {
			smaller := object.DeepCopyObject().(T)
			if left := i; !cut(reflect.ValueOf(smaller).Elem(), &left) || !yield(smaller) {
				return
			}
		}
	}
}

// simplerOf yields lists in which one of the objects is simpler.
func simplerOf[T apiruntime.Object](objects []T) iter.Seq[[]T] {
	return func(yield func([]T) bool) {
		for i, object := range objects {
			for smaller := range simpler(object) {
				changed := slices.Clone(objects)
				changed[i] = smaller
				if !yield(changed) {
					return
				}
			}
		}
	}
}

// cut takes away what the index, counted from zero, points to. It returns false if the value does not have that much.
func cut(v reflect.Value, index *int) bool {
	hit := func() bool { *index--; return *index < 0 }
	if v.IsZero() {
		return false
	}
	switch v.Interface().(type) {
	case resource.Quantity, metav1.Time:
		return false
	}
	switch v.Kind() {
	case reflect.Struct:
		return cutField(v, index)
	case reflect.Pointer:
		if hit() {
			v.SetZero()
			return true
		}
		return cut(v.Elem(), index)
	case reflect.Slice:
		for i := range v.Len() {
			if hit() {
				v.Set(reflect.AppendSlice(v.Slice3(0, i, i), v.Slice(i+1, v.Len())))
				return true
			}
		}
		for i := range v.Len() {
			if cut(v.Index(i), index) {
				return true
			}
		}
	case reflect.Map:
		for _, key := range slices.SortedFunc(maps.Keys(mapKeys(v)), strings.Compare) {
			if hit() {
				v.SetMapIndex(mapKeys(v)[key], reflect.Value{})
				return true
			}
		}
	default:
		if hit() {
			v.SetZero()
			return true
		}
	}
	return false
}

func cutField(v reflect.Value, index *int) bool {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		switch field.Name {
		case "Name", "Namespace", "UID", "NodeName", "TypeMeta", "SchedulerName", "Containers":
			continue // without them, it is another case
		case "Key", "Operator", "Effect", "MaxSkew", "TopologyKey", "WhenUnsatisfiable", "Weight":
			if field.Type.Kind() != reflect.Slice {
				continue // no API server would take it
			}
		}
		if field.IsExported() && cut(v.Field(i), index) {
			return true
		}
	}
	return false
}

func mapKeys(v reflect.Value) map[string]reflect.Value {
	keys := map[string]reflect.Value{}
	for _, key := range v.MapKeys() {
		keys[key.String()] = key
	}
	return keys
}
