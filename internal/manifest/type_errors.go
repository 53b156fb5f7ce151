// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// typeErrors finds every value that the target type does not accept. The decoder
// names the first one at best and without list indices, so each part of the value
// is decoded on its own: a part that fails is searched further, and one that fails
// although none of its own parts does is an error.
func (d *Document) typeErrors(path string, data []byte, target reflect.Type, decodeErr error) ErrorList {
	var list ErrorList
	value, err := generic(data)
	if err != nil {
		list.Add(d.Errorf(path, "not well-formed JSON: %w", err))
		return list
	}
	search := undecodableSearch{target: target}
	search.visit(nil, value, decodeErr)
	for _, problem := range search.errs {
		cause := d.Errorf(joinPath(path, problem.path()), "%s", wording(problem, typeAt(target, problem.path())))
		cause.Err = problem.err
		list.Add(cause)
	}
	return list
}

// undecodable is a value that could not be decoded.
type undecodable struct {
	steps []any // string: key of an object; int: index of a list
	value any
	err   error
}

func (f undecodable) path() string {
	path := ""
	for _, step := range f.steps {
		switch step := step.(type) {
		case string:
			path = fieldPath(path, step)
		case int:
			path = indexPath(path, step)
		}
	}
	return path
}

type undecodableSearch struct {
	target reflect.Type
	errs   []undecodable
}

// visit searches the value at steps, which is known to fail with err.
func (s *undecodableSearch) visit(steps []any, value any, err error) {
	found := len(s.errs)
	if empty := emptied(value); empty != nil {
		if err := s.try(steps, empty); err != nil { // a list or mapping is not wanted here at all
			s.errs = append(s.errs, undecodable{steps: steps, value: value, err: err})
			return
		}
	}
	for step, part := range parts(value) {
		if len(s.errs) >= maxErrors {
			return
		}
		inner := append(slices.Clone(steps), step)
		if err := s.try(inner, part); err != nil {
			s.visit(inner, part, err)
		}
	}
	if len(s.errs) == found {
		s.errs = append(s.errs, undecodable{steps: steps, value: value, err: err})
	}
}

// try decodes a value that has nothing but the given part.
func (s *undecodableSearch) try(steps []any, part any) error {
	for _, step := range slices.Backward(steps) {
		if key, isKey := step.(string); isKey {
			part = map[string]any{key: part}
		} else {
			part = []any{part}
		}
	}
	data, err := json.Marshal(part)
	if err != nil {
		return err
	}
	_, err = unmarshal(data, reflect.New(s.target.Elem()).Interface())
	return err
}

// emptied returns an empty object or list of the kind that value is, nil for
// other values.
func emptied(value any) any {
	switch value.(type) {
	case map[string]any:
		return map[string]any{}
	case []any:
		return []any{}
	}
	return nil
}

// parts yields the entries of an object by name or the items of a list.
func parts(value any) iter.Seq2[any, any] {
	return func(yield func(step, part any) bool) {
		switch value := value.(type) {
		case map[string]any:
			for _, key := range slices.Sorted(mapKeys(value)) {
				if !yield(key, value[key]) {
					return
				}
			}
		case []any:
			for i, item := range value {
				if !yield(i, item) {
					return
				}
			}
		}
	}
}

func mapKeys(m map[string]any) iter.Seq[string] { return maps.Keys(m) }

// wording says what was found and what is wanted instead.
func wording(problem undecodable, wanted reflect.Type) string {
	if want := describeType(wanted, problem.value); want != "" {
		return fmt.Sprintf("wrong type: want %s, found %s", want, describeValue(problem.value))
	}
	var typeError *json.UnmarshalTypeError
	if errors.As(problem.err, &typeError) {
		if want := describeType(typeError.Type, problem.value); want != "" {
			return fmt.Sprintf("wrong type: want %s, found %s", want, describeValue(problem.value))
		}
	}
	return fmt.Sprintf("cannot use %s: %s", describeValue(problem.value), strings.TrimPrefix(problem.err.Error(), "json: "))
}

// describeType says what may be written for a Go type, "" where the error of
// the type's own decoder says it better.
func describeType(t reflect.Type, found any) string {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil {
		return ""
	}
	if t == reflect.TypeFor[metav1.Duration]() || t == reflect.TypeFor[time.Duration]() {
		return `a duration such as "15s" or "1m30s"`
	}
	if decodesItself(t) {
		return ""
	}
	switch kind := t.Kind(); kind {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if number, isNumber := found.(json.Number); isNumber && !strings.ContainsAny(number.String(), ".eE") {
			return "an integer that fits " + kind.String()
		}
		return "an integer"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.String:
		switch found.(type) {
		case json.Number:
			return "a string (put it in quotes)"
		case bool:
			return "a string (put it in quotes; YAML takes y, yes, on, n, no and off for true or false)"
		}
		return "a string"
	case reflect.Slice, reflect.Array:
		if kind == reflect.Slice && t.Elem().Kind() == reflect.Uint8 {
			return "base64 text"
		}
		return "a list"
	case reflect.Struct, reflect.Map:
		return "a mapping"
	}
	return ""
}

func decodesItself(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]())
}

// describeValue words a decoded JSON value.
func describeValue(value any) string {
	switch value := value.(type) {
	case nil:
		return "nothing"
	case string:
		return "the string " + strconv.Quote(shorten(value))
	case json.Number:
		return "the number " + shorten(value.String())
	case bool:
		return strconv.FormatBool(value)
	case []any:
		return "a list"
	case map[string]any:
		return "a mapping"
	}
	return fmt.Sprintf("%T", value)
}

func shorten(text string) string {
	const limit = 60
	runes := []rune(text)
	if len(runes) <= limit {
		return text
	}
	return string(runes[:limit]) + "..."
}
