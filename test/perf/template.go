// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"strconv"
	"strings"
	"text/template"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// manifest is a template of objects. It sees its parameters, and .Index and .Count: which object of how many this is.
type manifest struct {
	path   string
	text   *template.Template
	params map[string]any
	count  int
	// alike is the object if all are the same.
	alike []byte
}

func readManifest(path string, params map[string]any, count int) (*manifest, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading a template: %w", err)
	}
	m := &manifest{path: path, params: params, count: count}
	if !bytes.Contains(data, []byte("{{")) {
		m.alike, err = yaml.YAMLToJSON(data)
	} else {
		m.text, err = template.New(path).Funcs(template.FuncMap{
			"AddInt":    func(a, b any) (int, error) { return onIntegers(a, b, add) },
			"DivideInt": func(a, b any) (int, error) { return onIntegers(a, b, divide) },
			"Mod":       func(a, b any) (int, error) { return onIntegers(a, b, modulo) },
			"Int":       integer,
			"JSON": func(value any) (string, error) {
				text, err := json.Marshal(value)
				return string(text), err
			},
		}).Parse(string(data))
	}
	if err != nil {
		return nil, fmt.Errorf("reading template %s: %w", path, err)
	}
	return m, nil
}

// integer converts a parameter, which may have come out of YAML or out of a default.
func integer(value any) (int, error) {
	switch v := value.(type) {
	case int:
		return v, nil
	case float64:
		return int(v), nil
	case string:
		return strconv.Atoi(v)
	}
	return 0, fmt.Errorf("%v is no number", value)
}

func onIntegers(a, b any, do func(a, b int) (int, error)) (int, error) {
	x, err := integer(a)
	if err != nil {
		return 0, err
	}
	y, err := integer(b)
	if err != nil {
		return 0, err
	}
	return do(x, y)
}

func add(a, b int) (int, error) { return a + b, nil }

func divide(a, b int) (int, error) {
	if b == 0 {
		return 0, errors.New("division by zero")
	}
	return a / b, nil
}

func modulo(a, b int) (int, error) {
	if b == 0 {
		return 0, errors.New("division by zero")
	}
	return a % b, nil
}

// json is the object of an index.
func (m *manifest) json(index int) ([]byte, error) {
	if m.alike != nil {
		return m.alike, nil
	}
	values := map[string]any{"Index": index, "Count": m.count}
	maps.Copy(values, m.params)
	var out strings.Builder
	if err := m.text.Execute(&out, values); err != nil {
		return nil, fmt.Errorf("filling in template %s: %w", m.path, err)
	}
	object, err := yaml.YAMLToJSON([]byte(out.String()))
	if err != nil {
		return nil, fmt.Errorf("reading what template %s says: %w", m.path, err)
	}
	return object, nil
}

// object is the object of an index, as a kind that is known. Upper and lower case in names of fields count for nothing.
func object[T any](m *manifest, index int) (*T, error) {
	data, err := m.json(index)
	if err != nil {
		return nil, err
	}
	result := new(T)
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(result); err != nil {
		return nil, fmt.Errorf("reading what template %s says: %w", m.path, err)
	}
	return result, nil
}

// any is the object of an index, whatever kind it is.
func (m *manifest) any(index int) (*unstructured.Unstructured, error) {
	data, err := m.json(index)
	if err != nil {
		return nil, err
	}
	result := &unstructured.Unstructured{}
	if err := runtime.DecodeInto(unstructured.UnstructuredJSONScheme, data, result); err != nil {
		return nil, fmt.Errorf("reading what template %s says: %w", m.path, err)
	}
	return result, nil
}
