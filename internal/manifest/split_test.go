// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// summary is what Split found, as "line: kind/name" texts.
func summary(t *testing.T, text string) []string {
	t.Helper()
	documents, err := Split("file.yaml", []byte(text))
	if err != nil {
		return []string{err.Error()}
	}
	var result []string
	for i, document := range documents {
		if document.Index != i || document.File != "file.yaml" {
			t.Errorf("document %d has index %d and file %q", i, document.Index, document.File)
		}
		header, err := document.Header()
		if err != nil {
			result = append(result, err.Error())
			continue
		}
		result = append(result, fmt.Sprintf("%d: %s", document.Line, header))
	}
	return result
}

func TestSplit(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string
	}{
		{"one document", "kind: A\nmetadata: {name: x}\n", []string{"1: A x"}},
		{"several documents", "kind: A\n---\nkind: B\n---\nkind: C\n", []string{"1: A", "3: B", "5: C"}},
		{"empty ones are left out", "---\n# only a comment\n---\nkind: A\n---\n\n---\nkind: B\n---\n", []string{"4: A", "8: B"}},
		{"text behind the separator", "--- {kind: A}\n--- # comment\nkind: B\n", []string{"1: A", "3: B"}},
		{"directives", "%YAML 1.1\n---\nkind: A\n", []string{"3: A"}},
		{"end marker", "kind: A\n...\nkind: B\n", []string{"1: A", "3: B"}},
		{"Windows line ends", "kind: A\r\n---\r\nkind: B\r\n", []string{"1: A", "3: B"}},
		{"byte order mark", "\ufeffkind: A\n", []string{"1: A"}},
		{"dashes inside text", "kind: A\nmetadata:\n  name: |-\n    ---\n", []string{"1: A ---"}},
		{"JSON", `{"kind":"A","metadata":{"name":"x","namespace":"n"}}`, []string{"1: A n/x"}},
		{"JSON one a line", "{\"kind\":\"A\"}\n{\"kind\":\"B\"}\n\n{\n\"kind\":\"C\"}", []string{"1: A", "2: B", "4: C"}},
		{"JSON without a break", `{"kind":"A"}{"kind":"B"}`, []string{"1: A", "1: B"}},
		{"JSON with braces in strings", `{"kind":"A}{\"}"} {"kind":"B"}`, []string{`1: A}{"}`, "1: B"}},
		{"JSON and YAML mixed", "{\"kind\":\"A\"}\n---\nkind: B\n", []string{"1: A", "3: B"}},
		{"comment before JSON", "# license\n{\"kind\":\"A\"}\n", []string{"2: A"}},
		{"YAML flow mapping", "{kind: A, metadata: {name: it's}}\n", []string{"1: A it's"}},
		{"YAML flow mapping with a quoted brace", "{kind: '}', metadata: {name: x}}\n", []string{"1: } x"}},
		{"broken JSON between good", "{\"kind\":\"A\"}\n{\"kind\" \"B\"}\n{\"kind\":\"C\"}\n", []string{
			"1: A",
			`file.yaml:2:9: not well-formed JSON: invalid character '"' after object key`,
			"3: C",
		}},
		{"text after JSON", "{\"kind\":\"A\"} and more\n", []string{
			"1: A",
			`file.yaml:1:14: wrong type: want a mapping, found the string "and more"`,
		}},
		{"truncated JSON", "{\"kind\":\"A\",\n \"metadata\": {\"na", []string{
			"file.yaml:2:17: not well-formed JSON: unexpected end of JSON input",
		}},
		{"truncated YAML", "kind: A\n---\nkind: B\nmetadata:\n  name: \"x\n", []string{
			"1: A",
			"file.yaml:5: not well-formed YAML: found unexpected end of stream (the document ends here; is it complete?)",
		}},
		{"header of the wrong type", "kind: A\n---\nkind: [B]\nmetadata: {name: 5}\n", []string{
			"1: A",
			"file.yaml:3:1: kind: wrong type: want a string, found a list\n" +
				"file.yaml:4:12: metadata.name: wrong type: want a string (put it in quotes), found the number 5",
		}},
		{"a list", "- kind: A\n", []string{"file.yaml:1:1: wrong type: want a mapping, found a list"}},
		{"empty", "", []string{"file.yaml: the file is empty"}},
		{"blank", " \n\t\n", []string{"file.yaml: the file is empty"}},
		{"only comments", "# nothing\n---\n", []string{"file.yaml: the file has no document, only comments or separators"}},
		{"binary", "kind: A\n\x7fELF\x00\x01", []string{"file.yaml:2:5: not a text file: byte 0x00 is not allowed in UTF-8 YAML or JSON"}},
		{"not UTF-8", "kind: \xc3\x28", []string{"file.yaml:1:7: not a text file: byte 0xc3 is not allowed in UTF-8 YAML or JSON"}},
		{"UTF-16", "\xff\xfek\x00", []string{"file.yaml: the file is UTF-16 text; save it as UTF-8"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, summary(t, test.text)); diff != "" {
				t.Errorf("documents (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSplitEmptyIsErrEmpty(t *testing.T) {
	for _, text := range []string{"", "# comment\n"} {
		if _, err := Split("f", []byte(text)); !errors.Is(err, ErrEmpty) {
			t.Errorf("Split(%q) = %v, want ErrEmpty", text, err)
		}
	}
	if _, err := Split("f", []byte("\x00")); err == nil || errors.Is(err, ErrEmpty) {
		t.Errorf("Split of binary data = %v, want another error than ErrEmpty", err)
	}
}

func TestLoad(t *testing.T) {
	if _, err := Load("testdata/absent.yaml"); err == nil || !strings.Contains(err.Error(), "testdata/absent.yaml") {
		t.Errorf("Load of a missing file = %v, want an error that names the file", err)
	}
}
