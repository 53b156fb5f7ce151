// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package manifest reads YAML and JSON text written by people and says exactly
// where it is wrong.
//
// [Split] cuts a file into documents: YAML documents between "---" lines, JSON
// objects one after the other, or both mixed. A [Document] is then decoded
// strictly into a Go type with [Document.Decode]; everything that is wrong with
// it comes back at once as an [ErrorList] of [Error] values, each with file, line,
// column and field path:
//
//	cluster.yaml:12:5: spec.stepz: unknown field; did you mean "steps"?
//
// Reported are text that is not YAML or JSON, fields the Go type does not have,
// keys given twice and values of the wrong type. Callers that find more to complain
// about after decoding (validation) ask [Document.Position] where a field was
// written, or let [Document.Errorf] build the error.
//
// Decoding follows the rules of Kubernetes: YAML is converted to JSON first
// (sigs.k8s.io/yaml), and field names are case-sensitive (sigs.k8s.io/json).
// A node tree, which knows positions, is built only for documents that have a
// error, so that large files without one load at the speed of the JSON decoder.
//
// No input makes the package panic. Functions and methods of the package may be
// called from several goroutines at once.
package manifest
