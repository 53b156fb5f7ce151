// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"sigs.k8s.io/yaml"
)

// JSON writes a value as indented JSON with a line break at the end.
func JSON(w io.Writer, value any) error {
	text, err := encodeJSON(value)
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

// YAML writes a value as YAML, with the field names and omissions of its JSON form.
func YAML(w io.Writer, value any) error {
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
