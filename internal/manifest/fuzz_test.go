// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"strings"
	"testing"

	"github.com/rouse-scheduler/rouse/internal/fuzzlimit"
)

// FuzzSplit checks that no text makes the package panic and that every error
// names the file.
func FuzzSplit(f *testing.F) {
	for _, seed := range []string{
		"", "---", "--- ---", "...\n", "%YAML 1.1\n---\n", "a: &a [*a]\n", "<<: *x", "? [a]\n: b\n", "{", "{}{", `{"a":{"a":1,"a":2}}`,
		"kind: A\n---\nkind: B\nspec: {steps: [{at: 1, byName: {a: 2}}]}\n", "[[[[", "!!binary x", "!!float abc", "a: !!int 1e400",
		"- - -\n", "a: |\n ---\n---", "\xef\xbb\xbf", "{\"a\":1e999}", "\"\\ud83d\"", "{\"kind\": \"\\ud83d\\ude00\", \"kind\": 1}", "a: \"\\xff\"",
		"0x1: 1\n1: 2\n", "null: 1\n~: 2\n", "[1]: 2\n", "spec: {steps: {}}\n", "2001-01-01: 1\n", "a: 2001-01-01\n", "{a: .nan}", "\t{}", "--- |\n x\n", "{\"a\" : [}",
		"%", "%\n---\n%", "!<x> y", "&a", "*a", "a: >\n\n\n", "@", "`", "# c", "{#}", "spec:\n  <<: [{steps: 1}, 2]\n  <<: {}\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		defer fuzzlimit.Limits{}.Start()()
		documents, err := Split("name.yaml", data)
		checkNamed(t, err)
		for _, document := range documents {
			_, err := document.Header()
			checkNamed(t, err)
			var target scenario
			checkNamed(t, document.Decode(&target))
			var lenient map[string]any
			checkNamed(t, document.DecodeLenient(&lenient))
			if at := document.Position("spec.steps[0].at"); at.Line < document.Line {
				t.Errorf("Position = %v, before the document on line %d", at, document.Line)
			}
		}
	})
}

func checkNamed(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		return
	}
	list, isList := err.(ErrorList)
	if !isList {
		list = ErrorList{err}
	}
	for _, err := range list {
		if !strings.HasPrefix(err.Error(), "name.yaml:") {
			t.Errorf("error does not name the file: %v", err)
		}
	}
}
