// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"sigs.k8s.io/yaml"
)

// View is something that can be shown: as text for people by its own method, and as JSON or YAML with [WriteJSON] and
// [WriteYAML], which write its exported fields.
type View interface {
	// WriteText writes the view for people. The form may change between releases; programs read JSON or YAML.
	WriteText(w io.Writer, style Style) error
}

// WriteJSON writes a value as indented JSON with a line break at the end.
func WriteJSON(w io.Writer, value any) error {
	text, err := encodeJSON(value)
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

// WriteYAML writes a value as YAML, with the field names and omissions of its JSON form.
func WriteYAML(w io.Writer, value any) error {
	text, err := encodeJSON(value)
	if err != nil {
		return err
	}
	if text, err = yaml.JSONToYAML(text); err != nil {
		return fmt.Errorf("writing %T as YAML: %w", value, err)
	}
	_, err = w.Write(text)
	return err
}

// encodeJSON leaves <, > and & as they are: the text goes to terminals and files, not into a web page.
func encodeJSON(value any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return nil, fmt.Errorf("writing %T as JSON: %w", value, err)
	}
	return text.Bytes(), nil
}
