// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"
)

// CheckQuantities checks the quantities in a part of the document, found at path, that is to be decoded as the type that
// into points to. apimachinery takes any amount of time and memory for one such as "1e-2147483648". Decode and its
// variants check it themselves; this is for what is decoded in other ways later. The error is an ErrorList.
func (d *Document) CheckQuantities(path string, raw []byte, into any) error {
	return d.quantityErrors(path, raw, reflect.TypeOf(into)).Err()
}

// CheckNumbers is CheckQuantities for a part whose type is not known: every number and every string that is one is
// taken to be a quantity.
func (d *Document) CheckNumbers(path string, raw []byte) error {
	return d.quantityErrors(path, raw, reflect.TypeFor[any]()).Err()
}

func (d *Document) quantityErrors(path string, data []byte, target reflect.Type) ErrorList {
	if !mayHaveHugeNumbers(data) {
		return nil
	}
	value, err := generic(data)
	if err != nil {
		return nil // decoding it reports that
	}
	search := quantitySearch{
		fields: map[reflect.Type]map[string]reflect.Type{}, anything: target.Kind() == reflect.Interface,
		number: regexp.MustCompile(`^\s*[+-]?([0-9]*)\.?([0-9]*)(?:[eE][+-]?([0-9]+)|[A-Za-z]*)\s*$`),
	}
	search.visit(path, value, target)
	var list ErrorList
	for _, found := range search.found {
		list.Add(d.Errorf(found, "the number has more than %d digits in a row, or an exponent beyond %d", MaxQuantityDigits, MaxQuantityExponent))
	}
	return list
}

// mayHaveHugeNumbers reports whether JSON may have a number that is refused as a quantity, without looking closely: a
// long row of digits, an exponent of four digits, or a character of a number that is written as an escape.
func mayHaveHugeNumbers(data []byte) bool {
	digits := 0
	exponent := false // the digits follow an exponent sign
	for i, c := range data {
		switch {
		case c >= '0' && c <= '9':
			digits++
			if digits > MaxQuantityDigits || exponent && digits > len("999") {
				return true
			}
			continue
		case c == '+' || c == '-':
			exponent = i > 0 && (data[i-1] == 'e' || data[i-1] == 'E')
		case c == 'u' && i > 0 && data[i-1] == '\\':
			if escapesNumber(data[i+1:]) {
				return true
			}
			exponent = false
		default:
			exponent = c == 'e' || c == 'E'
		}
		digits = 0
	}
	return false
}

// escapesNumber reports whether four hexadecimal digits are those of an ASCII character other than the signs <, > and &,
// which encoders escape everywhere.
func escapesNumber(hex []byte) bool {
	if len(hex) < 4 || hex[0] != '0' || hex[1] != '0' {
		return false
	}
	code, err := strconv.ParseUint(string(hex[:4]), 16, 16)
	return err == nil && (code >= '+' && code <= '9' || code == 'e' || code == 'E')
}

// quantitySearch finds quantities that are refused.
type quantitySearch struct {
	fields   map[reflect.Type]map[string]reflect.Type
	anything bool           // the types are not known
	number   *regexp.Regexp // a quantity: digits before and after the point, exponent
	found    []string
}

func (s *quantitySearch) visit(path string, value any, t reflect.Type) {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || len(s.found) >= maxErrors {
		return
	}
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(mapKeys(value)) {
			s.visit(fieldPath(path, key), value[key], s.inside(t, key))
		}
	case []any:
		inside := t
		if kind := t.Kind(); kind == reflect.Slice || kind == reflect.Array {
			inside = t.Elem()
		} else if !s.anything {
			return
		}
		for i, item := range value {
			s.visit(indexPath(path, i), item, inside)
		}
	case json.Number:
		s.check(path, value.String(), t)
	case string:
		s.check(path, value, t)
	}
}

// inside returns the type of a field of a mapping; nil if it has none.
func (s *quantitySearch) inside(t reflect.Type, key string) reflect.Type {
	switch {
	case s.anything:
		return t
	case t.Kind() == reflect.Map:
		return t.Elem()
	case t.Kind() != reflect.Struct:
		return nil
	}
	if s.fields[t] == nil {
		s.fields[t] = jsonFields(t)
	}
	return s.fields[t][key]
}

func (s *quantitySearch) check(path, text string, t reflect.Type) {
	if (s.anything || t == reflect.TypeFor[resource.Quantity]()) && s.isHuge(text) {
		s.found = append(s.found, path)
	}
}

// isHuge reports whether a text is a quantity with more digits, or a larger exponent, than one may have.
func (s *quantitySearch) isHuge(text string) bool {
	parts := s.number.FindStringSubmatch(text)
	if parts == nil {
		return false
	}
	before, after, exponent := parts[1], parts[2], parts[3]
	if len(before) > MaxQuantityDigits || len(after) > MaxQuantityDigits {
		return true
	}
	value, err := strconv.Atoi(exponent)
	return exponent != "" && (err != nil || value > MaxQuantityExponent)
}
