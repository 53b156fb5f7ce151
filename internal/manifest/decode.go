// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	kjson "sigs.k8s.io/json"
)

// maxErrors bounds how many errors of one kind are reported for a document.
const maxErrors = 100

// Decode decodes the document into a Go value, which into must point to. Unknown
// fields, keys given twice and values of the wrong type are errors; the result is
// an ErrorList with all of them. After an error, what into points to is not
// specified, except that with nothing but unknown or duplicate fields everything
// else has been set.
func (d *Document) Decode(into any) error { return d.decode(into, true) }

// DecodeLenient is Decode, except that unknown fields are ignored.
func (d *Document) DecodeLenient(into any) error { return d.decode(into, false) }

func (d *Document) decode(into any, strict bool) error {
	c := d.conversion()
	if c.err != nil {
		return c.err
	}
	list := slices.Clone(c.duplicates)
	list.Add(d.decodeValue("", c.json, into, strict))
	return list.Err()
}

// DecodeField decodes a part of the document that was kept as raw JSON, such as
// the Raw bytes of a RawExtension. path is the field that it was found at and leads
// the fields in errors; otherwise it is like Decode.
func (d *Document) DecodeField(path string, raw []byte, into any) error {
	return d.decodeValue(path, raw, into, true)
}

// DecodeFieldLenient is DecodeField, except that unknown fields are ignored.
func (d *Document) DecodeFieldLenient(path string, raw []byte, into any) error {
	return d.decodeValue(path, raw, into, false)
}

func (d *Document) decodeValue(path string, data []byte, into any, strict bool) error {
	target := reflect.ValueOf(into)
	if target.Kind() != reflect.Pointer || target.IsNil() {
		return fmt.Errorf("decoding %s: the target must be a non-nil pointer, not %T", d.File, into)
	}
	if huge := d.quantityErrors(path, data, target.Type()); len(huge) > 0 {
		return huge.Err()
	}
	strictErrors, err := unmarshal(data, into)
	if err == nil {
		return d.strictErrors(path, strictErrors, target.Type(), strict).Err()
	}
	list := d.typeErrors(path, data, target.Type(), err)
	if repaired, ok := withoutErrors(data, list, path); ok {
		if strictErrors, err := unmarshal(repaired, reflect.New(target.Type().Elem()).Interface()); err == nil {
			list.Add(d.strictErrors(path, strictErrors, target.Type(), strict))
		}
	}
	return list.Err()
}

// unmarshal decodes JSON; strictErrors are about unknown and duplicate fields.
// A panic in the unmarshaller of a type becomes an error.
func unmarshal(data []byte, into any) (strictErrors []error, err error) {
	type outcome struct{ strictErrors []error }
	result, err := recoverPanic(func() (outcome, error) {
		strictErrors, err := kjson.UnmarshalStrict(data, into)
		return outcome{strictErrors}, err
	})
	return result.strictErrors, err
}

// strictErrors words the errors of the strict decoder.
func (d *Document) strictErrors(path string, strictErrors []error, target reflect.Type, strict bool) ErrorList {
	var list ErrorList
	for _, err := range strictErrors {
		var located interface{ FieldPath() string }
		if !errors.As(err, &located) {
			list.Add(d.Errorf(path, "%w", err))
			continue
		}
		inner := located.FieldPath()
		problem := d.Errorf(joinPath(path, inner), "unknown field")
		switch {
		case strings.HasPrefix(err.Error(), "duplicate field"):
			problem = d.duplicateError(problem)
		case !strict:
			continue
		default:
			parent, name := splitLast(inner)
			problem.Suggestion, problem.Strict = Suggest(name, fieldNames(typeAt(target, parent))), true
		}
		problem.Err = err
		list.Add(problem)
	}
	return list
}

// withoutErrors returns data with the wrong values set to null, so that the rest
// of it can be checked.
func withoutErrors(data []byte, errs ErrorList, base string) ([]byte, bool) {
	value, err := generic(data)
	if err != nil {
		return nil, false
	}
	for _, err := range errs {
		var problem *Error
		if !errors.As(err, &problem) || problem.Field == base {
			return nil, false
		}
		value = setNull(value, strings.TrimPrefix(strings.TrimPrefix(problem.Field, base), "."))
	}
	repaired, err := json.Marshal(value)
	return repaired, err == nil
}

// setNull replaces the value at path by null.
func setNull(value any, path string) any {
	if path == "" {
		return nil
	}
	switch value := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(mapKeys(value)) {
			if rest, found := cutPath(path, fieldPath("", name)); found {
				value[name] = setNull(value[name], rest)
				return value
			}
		}
	case []any:
		for i := range value {
			if rest, found := cutPath(path, indexPath("", i)); found {
				value[i] = setNull(value[i], rest)
				return value
			}
		}
	}
	return value
}

// cutPath removes the first part of a path, if it is this one.
func cutPath(path, first string) (rest string, found bool) {
	rest, found = strings.CutPrefix(path, first)
	if !found || rest != "" && rest[0] != '.' && rest[0] != '[' {
		return "", false
	}
	return strings.TrimPrefix(rest, "."), true
}

// splitLast splits "a.b[0].name" into "a.b[0]" and "name".
func splitLast(path string) (parent, name string) {
	if i := strings.LastIndexByte(path, '.'); i >= 0 {
		return path[:i], path[i+1:]
	}
	return "", path
}
