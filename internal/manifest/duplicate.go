// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// duplicateKeys reports every key that a mapping of the document has twice.
func (d *Document) duplicateKeys() ErrorList {
	var list ErrorList
	d.collectDuplicates(resolve(d.tree()), "", &list)
	return list
}

func (d *Document) collectDuplicates(node *yaml.Node, path string, list *ErrorList) {
	if node == nil || len(*list) >= maxErrors {
		return
	}
	switch node.Kind {
	case yaml.SequenceNode:
		for i, item := range node.Content {
			d.collectDuplicates(item, indexPath(path, i), list)
		}
	case yaml.MappingNode:
		first := make(map[string]*yaml.Node, len(node.Content)/2)
		for i := 0; i+1 < len(node.Content); i += 2 {
			key, value := node.Content[i], node.Content[i+1]
			keyPath := fieldPath(path, key.Value)
			if earlier, found := first[key.Value]; found && key.Kind == yaml.ScalarNode {
				at, before := d.fromStart(key.Line, key.Column), d.fromStart(earlier.Line, earlier.Column)
				list.Add(&Error{
					File: d.File, Line: at.Line, Column: at.Column, Field: keyPath,
					Message: fmt.Sprintf("duplicate key: %q is already set on line %d", key.Value, before.Line),
					Strict:  true,
				})
			} else {
				first[key.Value] = key
			}
			d.collectDuplicates(value, keyPath, list)
		}
	}
}

// duplicateError says where the field of problem is set for the second time.
func (d *Document) duplicateError(problem *Error) *Error {
	for _, err := range d.duplicateKeys() {
		if duplicate, ok := err.(*Error); ok && duplicate.Field == problem.Field {
			return duplicate
		}
	}
	problem.Message, problem.Strict = "duplicate key: the field is set twice", true
	return problem
}

// fieldPath appends a field name to a path, in brackets where it is not a plain
// name.
func fieldPath(path, name string) string {
	if !isPlainName(name) {
		return path + "[" + name + "]"
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

// indexPath appends a list index to a path.
func indexPath(path string, index int) string {
	return path + "[" + strconv.Itoa(index) + "]"
}

// joinPath appends a path to another one.
func joinPath(base, path string) string {
	if base == "" || path == "" || strings.HasPrefix(path, "[") {
		return base + path
	}
	return base + "." + path
}

func isPlainName(name string) bool {
	for _, r := range name {
		if r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
			return false
		}
	}
	return name != ""
}
