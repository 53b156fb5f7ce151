// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPosition(t *testing.T) {
	const (
		yamlText = "kind: A\n---\n# comment\nmetadata:\n  labels:\n    a.b/c: d\n    a: {b: 1}\nspec:\n  steps:\n  - at: 1s\n  - {at: 2s, \"to\": x}\n"
		jsonText = "\n {\"metadata\": {\"labels\": {\"a.b/c\": \"d\",\n \"a\": {\"b\":1}}},\n  \"spec\": {\"steps\": [{\"at\": \"é\"}, {\"at\": \"2s\", \"to\": \"x\"}]}}"
	)
	tests := []struct {
		path               string
		inYAML, inJSONText Position
	}{
		{"", Position{4, 1}, Position{2, 2}},
		{"metadata", Position{4, 1}, Position{2, 3}},
		{"metadata.labels[a.b/c]", Position{6, 5}, Position{2, 27}},
		{"metadata.labels.a.b/c", Position{6, 5}, Position{2, 27}},
		{"metadata.labels.a.b", Position{7, 9}, Position{3, 8}},
		{"metadata.annotations.x", Position{4, 1}, Position{2, 3}},
		{"spec.steps[0]", Position{10, 5}, Position{4, 22}},
		{"spec.steps[0].at", Position{10, 5}, Position{4, 23}},
		{"spec.steps[1].to", Position{11, 14}, Position{4, 48}},
		{"spec.steps[1].absent", Position{11, 5}, Position{4, 35}},
		{"spec.steps[7].at", Position{9, 3}, Position{4, 12}},
		{"spec.steps[", Position{9, 3}, Position{4, 12}},
		{"none", Position{4, 1}, Position{2, 2}},
	}
	documents, err := Split("f", []byte(yamlText))
	if err != nil {
		t.Fatal(err)
	}
	jsonDocument := first(t, jsonText)
	for _, test := range tests {
		if diff := cmp.Diff(test.inYAML, documents[1].Position(test.path)); diff != "" {
			t.Errorf("YAML position of %q (-want +got):\n%s", test.path, diff)
		}
		if diff := cmp.Diff(test.inJSONText, jsonDocument.Position(test.path)); diff != "" {
			t.Errorf("JSON position of %q (-want +got):\n%s", test.path, diff)
		}
	}
}

func TestPositionOfBrokenDocument(t *testing.T) {
	if diff := cmp.Diff(Position{1, 1}, first(t, "a: [").Position("a")); diff != "" {
		t.Errorf("position (-want +got):\n%s", diff)
	}
}

func TestSuggest(t *testing.T) {
	candidates := []string{"NodeAffinity", "NodeName", "NodePorts", "TaintToleration", "at"}
	tests := map[string]string{
		"NodeAfinity":      "NodeAffinity",
		"nodeaffinity":     "NodeAffinity",
		"NodeNmae":         "NodeName",
		"TaintTolerations": "TaintToleration",
		"ta":               "at",
		"NodeName":         "",
		"Foo":              "",
		"":                 "",
	}
	for name, want := range tests {
		if got := Suggest(name, candidates); got != want {
			t.Errorf("Suggest(%q) = %q, want %q", name, got, want)
		}
	}
}
