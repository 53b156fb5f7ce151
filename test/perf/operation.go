// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
)

// operation is an operation as a file has it, with the names of parameters.
type operation interface {
	// prepare works out the parameters and reads the templates.
	prepare(at place) (step, error)
}

// step is an operation that is ready to be done.
type step struct {
	// name of the operation, and the templates that it fills in.
	name      string
	manifests []*manifest
	do        func(context.Context, *run) error
}

// place is where an operation stands: in which workload, as which of its operations.
type place struct {
	*workload
	index int
}

// path is that of a file that an operation names; nothing if it names none.
func (p place) path(name string) string {
	if name == "" {
		return ""
	}
	return filepath.Join(p.folder, name)
}

// count is how many objects an operation is about: a number or a parameter, else the other value.
func (p place) count(count int, param string, otherwise int) (int, error) {
	if count > 0 {
		return count, nil
	}
	return p.params.integer(param, otherwise)
}

// manifest reads a template with parameters that the operation gives it.
func (p place) manifest(path string, templateParams map[string]any, count int) (*manifest, error) {
	values, err := p.params.values(templateParams)
	if err != nil {
		return nil, err
	}
	return readManifest(path, values, count)
}

// namespace is the one that an operation names, else one of its own.
func (p place) namespace(name string) string {
	if name == "" {
		return fmt.Sprintf("namespace-%d", p.index)
	}
	return name
}

// operationsByCode makes an empty operation of each kind.
func operationsByCode() map[string]func() operation {
	return map[string]func() operation{
		"createNodes":            func() operation { return &createNodes{} },
		"createPods":             func() operation { return &createPods{} },
		"createPodSets":          func() operation { return &createPodSets{} },
		"createNamespaces":       func() operation { return &createNamespaces{} },
		"createAny":              func() operation { return &createAny{} },
		"createPodGroups":        func() operation { return &createPodGroups{} },
		"updateAny":              func() operation { return &updateAny{} },
		"deletePods":             func() operation { return &deletePods{} },
		"churn":                  func() operation { return &churn{} },
		"barrier":                func() operation { return &barrier{} },
		"sleep":                  func() operation { return &sleep{} },
		"allocResourceClaims":    func() operation { return &allocResourceClaims{} },
		"startCollectingMetrics": func() operation { return &startCollectingMetrics{} },
		"stopCollectingMetrics":  func() operation { return &stopCollectingMetrics{} },
	}
}

// parseOperations reads operations. An unknown one, or one with an unknown field, is an error.
func parseOperations(raw []json.RawMessage) ([]operation, error) {
	var operations []operation
	for i, data := range raw {
		var code struct {
			Opcode string `json:"opcode"`
		}
		if err := json.Unmarshal(data, &code); err != nil {
			return nil, fmt.Errorf("operation %d: %w", i, err)
		}
		construct := operationsByCode()[code.Opcode]
		if construct == nil {
			return nil, fmt.Errorf("operation %d: the runner does not know the operation %q", i, code.Opcode)
		}
		made := construct()
		decoder := json.NewDecoder(bytes.NewReader(data))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(made); err != nil {
			return nil, fmt.Errorf("operation %d, %s: %w", i, code.Opcode, err)
		}
		operations = append(operations, made)
	}
	return operations, nil
}

// prepare makes the workload ready to be run.
func (w *workload) prepare() ([]step, error) {
	var steps []step
	for i, operation := range w.operations {
		prepared, err := operation.prepare(place{w, i})
		if err != nil {
			return nil, fmt.Errorf("%s, operation %d: %w", w.name(), i, err)
		}
		steps = append(steps, prepared)
	}
	return steps, nil
}

// opcode is the field that every operation has.
type opcode struct {
	Opcode string `json:"opcode"`
}

// suitePath is that of a file that every test case can name.
func (p place) suitePath(name string) string { return filepath.Join(p.suite, filepath.FromSlash(name)) }
