// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package profiles

import (
	"bytes"
	"encoding/json"
	"unicode"

	"sigs.k8s.io/yaml"

	"github.com/rouse-scheduler/rouse/internal/manifest"
)

// checkForm refuses what kube-scheduler cannot read, although document, the only one in data, is well-formed: it takes
// the whole text for JSON if that begins with a brace, and otherwise reads the first YAML document, even an empty one,
// with the directives before it.
func checkForm(document *manifest.Document, data []byte) error {
	if _, err := document.JSON(); err != nil {
		return err
	}
	if bytes.HasPrefix(bytes.TrimLeftFunc(data, unicode.IsSpace), []byte("{")) {
		if !json.Valid(data) {
			return document.Errorf("", "kube-scheduler reads a file that begins with a brace as JSON, which this is not; "+
				"write the mapping without braces, or with a line --- before it")
		}
		return nil
	}
	first, err := yaml.YAMLToJSON(data)
	switch {
	case err != nil:
		return document.Errorf("", "kube-scheduler cannot read what comes before the document: %w", err)
	case string(first) == "null":
		return document.Errorf("", "the file begins with an empty document, and kube-scheduler reads no other; remove the line --- before this one")
	}
	return nil
}
