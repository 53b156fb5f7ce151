// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"encoding/json"
	"fmt"
	"sync"

	"go.yaml.in/yaml/v3"
	kjson "sigs.k8s.io/json"
)

// Document is one YAML or JSON document of a file. Documents are made by Split
// and safe for concurrent use. They must not be copied.
type Document struct {
	// File is the name that was given to Split, Index counts its documents from 0.
	File  string
	Index int
	// Line is the line of the file, from 1, that Raw begins on.
	Line int
	// Raw is the text of the document as it stands in the file.
	Raw []byte

	column int
	isJSON bool // Raw is known to be well-formed JSON

	convertOnce sync.Once
	converted   conversion
	treeOnce    sync.Once
	treeRoot    *yaml.Node
}

// Header is what identifies a Kubernetes object. All of it may be empty.
type Header struct {
	APIVersion, Kind, Namespace, Name string
}

// String returns "Kind namespace/name", as far as it is known.
func (h Header) String() string {
	text := h.Kind
	if text == "" {
		text = "object"
	}
	switch {
	case h.Name == "":
		return text
	case h.Namespace == "":
		return text + " " + h.Name
	}
	return text + " " + h.Namespace + "/" + h.Name
}

// Header reads apiVersion, kind and the name without decoding the rest. It fails
// if the document is not well-formed or one of them is not a string.
func (d *Document) Header() (Header, error) {
	var object struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Metadata   struct {
			Namespace string `json:"namespace"`
			Name      string `json:"name"`
		} `json:"metadata"`
	}
	data, err := d.JSON()
	if err != nil {
		return Header{}, err
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &object); err != nil {
		return Header{}, d.DecodeLenient(&object)
	}
	return Header{
		APIVersion: object.APIVersion, Kind: object.Kind,
		Namespace: object.Metadata.Namespace, Name: object.Metadata.Name,
	}, nil
}

// JSON returns the document converted to JSON; a JSON document is returned as it
// is. The error says where the text is not well-formed. Keys given twice are not
// an error here, they are reported by Decode. The result must not be changed.
func (d *Document) JSON() ([]byte, error) {
	c := d.conversion()
	return c.json, c.err
}

func (d *Document) conversion() *conversion {
	d.convertOnce.Do(func() {
		if d.isJSON {
			d.converted = conversion{json: d.Raw}
		} else {
			d.converted = d.convert()
		}
		if err := d.checkDepth(d.converted.json); err != nil {
			d.converted = conversion{err: err}
		}
	})
	return &d.converted
}

// tree returns the node tree of the document, nil if the text is not well-formed.
// Nodes carry lines and columns relative to Raw.
func (d *Document) tree() *yaml.Node {
	d.treeOnce.Do(func() {
		if d.isJSON {
			d.treeRoot = jsonTree(d.Raw)
			return
		}
		root, _ := parseYAML(d.Raw)
		d.treeRoot = root
	})
	return d.treeRoot
}

// Position returns where in the file the field is written: the key of a mapping,
// or the item of a list. path is written as in Kubernetes error messages, such as
// spec.steps[0].create or metadata.labels[app.kubernetes.io/name]. For a field
// that the document does not have it is the closest field around it, at last the
// start of the document.
func (d *Document) Position(path string) Position {
	start := Position{Line: d.Line, Column: d.column}
	node := find(d.tree(), path)
	if node == nil || node.Line == 0 {
		return start
	}
	return d.fromStart(node.Line, node.Column)
}

// fromStart turns a line and column within Raw into those of the file.
func (d *Document) fromStart(line, column int) Position {
	if line == 1 && column > 0 {
		column += d.column - 1
	}
	return Position{Line: d.Line + line - 1, Column: column}
}

// Errorf returns an error about the field at path, with its position. An empty
// path means the document as a whole. %w works as in fmt.Errorf.
func (d *Document) Errorf(path, format string, args ...any) *Error {
	cause := fmt.Errorf(format, args...)
	at := d.Position(path)
	return &Error{
		File: d.File, Line: at.Line, Column: at.Column,
		Field: path, Message: cause.Error(), Err: cause,
	}
}

// generic decodes data with numbers kept as they are written.
func generic(data []byte) (any, error) {
	var value any
	decoder := json.NewDecoder(newReader(data))
	decoder.UseNumber()
	err := decoder.Decode(&value)
	return value, err
}
