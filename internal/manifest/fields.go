// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"reflect"
	"strings"
)

// typeAt follows a field path through a Go type and returns the type found there,
// nil where the type does not say (interfaces, types that decode themselves,
// unknown fields).
func typeAt(t reflect.Type, path string) reflect.Type {
	for {
		for t != nil && t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		path = strings.TrimPrefix(path, ".")
		if t == nil || path == "" {
			return t
		}
		switch t.Kind() {
		case reflect.Slice, reflect.Array:
			_, rest, found := bracketed(path)
			if !found {
				return nil
			}
			t, path = t.Elem(), rest
		case reflect.Map:
			_, rest, found := bracketed(path)
			if !found {
				_, rest = splitFirst(path)
			}
			t, path = t.Elem(), rest
		case reflect.Struct:
			name, rest := splitFirst(path)
			t, path = jsonFields(t)[name], rest
		default:
			return nil
		}
	}
}

// splitFirst splits "a[0].b" into "a" and "[0].b".
func splitFirst(path string) (name, rest string) {
	if i := strings.IndexAny(path, ".["); i >= 0 {
		return path[:i], path[i:]
	}
	return path, ""
}

// fieldNames returns the JSON field names of a struct type, nil for other types.
func fieldNames(t reflect.Type) []string {
	if t == nil || t.Kind() != reflect.Struct {
		return nil
	}
	var names []string
	for name := range jsonFields(t) {
		names = append(names, name)
	}
	return names
}

// jsonFields returns the types of the JSON fields of a struct type by name, with
// those of embedded structs.
func jsonFields(t reflect.Type) map[string]reflect.Type {
	fields := make(map[string]reflect.Type)
	for i := range t.NumField() {
		structField := t.Field(i)
		name, _, _ := strings.Cut(structField.Tag.Get("json"), ",")
		embedded := structField.Type
		if embedded.Kind() == reflect.Pointer {
			embedded = embedded.Elem()
		}
		switch {
		case name == "-":
		case name == "" && structField.Anonymous && embedded.Kind() == reflect.Struct && embedded != t:
			for inner, innerType := range jsonFields(embedded) {
				if _, outer := fields[inner]; !outer {
					fields[inner] = innerType
				}
			}
		case !structField.IsExported():
		case name == "":
			fields[structField.Name] = structField.Type
		default:
			fields[name] = structField.Type
		}
	}
	return fields
}
