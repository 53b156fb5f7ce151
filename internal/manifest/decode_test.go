// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
)

type meta struct {
	Name   string            `json:"name"`
	Labels map[string]string `json:"labels,omitempty"`
}

type stepSpec struct {
	At      metav1.Duration          `json:"at"`
	Count   *int32                   `json:"count,omitempty"`
	Targets []string                 `json:"targets,omitempty"`
	Object  apiruntime.RawExtension  `json:"object"`
	ByName  map[string]nestedSetting `json:"byName,omitempty"`
}

type nestedSetting struct {
	Enabled bool `json:"enabled"`
}

type scenario struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        meta `json:"metadata"`
	Spec            struct {
		Steps []stepSpec `json:"steps"`
		Scale float32    `json:"scale"`
	} `json:"spec"`
}

func first(t *testing.T, text string) *Document {
	t.Helper()
	documents, err := Split("f.yaml", []byte(text))
	if err != nil {
		t.Fatalf("Split: %v", err)
	}
	return documents[0]
}

func TestDecode(t *testing.T) {
	text := "kind: Scenario\nmetadata: {name: x, labels: {a.b/c: d}}\nspec:\n  steps:\n  - {at: 1m30s, count: 3, object: {kind: Pod}}\n"
	var got scenario
	if err := first(t, text).Decode(&got); err != nil {
		t.Fatalf("Decode: %v", err)
	}
	step := got.Spec.Steps[0]
	if got.Kind != "Scenario" || got.Metadata.Labels["a.b/c"] != "d" || step.At.Duration != 90*time.Second || *step.Count != 3 {
		t.Errorf("Decode = %+v", got)
	}
	if diff := cmp.Diff(`{"kind":"Pod"}`, string(step.Object.Raw)); diff != "" {
		t.Errorf("raw object (-want +got):\n%s", diff)
	}
}

func TestDecodeFaults(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string
	}{
		{"unknown field", "kind: S\nspec:\n  stepz: []\n", []string{
			`f.yaml:3:3: spec.stepz: unknown field; did you mean "steps"?`,
		}},
		{"unknown field in a list", "spec:\n  steps:\n  - at: 1s\n  - at: 2s\n    cuont: 1\n", []string{
			`f.yaml:5:5: spec.steps[1].cuont: unknown field; did you mean "count"?`,
		}},
		{"unknown field below a map", "spec:\n  steps:\n  - byName:\n      a.b:\n        enabeld: true\n", []string{
			`f.yaml:5:9: spec.steps[0].byName.a.b.enabeld: unknown field`,
		}},
		{"letter case counts", "Kind: S\n", []string{`f.yaml:1:1: Kind: unknown field; did you mean "kind"?`}},
		{"nothing like it", "kind: S\nzzz: 1\n", []string{`f.yaml:2:1: zzz: unknown field`}},
		{"duplicate key", "kind: A\nmetadata:\n  name: x\n  name: z\nkind: B\n", []string{
			`f.yaml:4:3: metadata.name: duplicate key: "name" is already set on line 3`,
			`f.yaml:5:1: kind: duplicate key: "kind" is already set on line 1`,
		}},
		{"duplicate key in JSON", `{"kind":"A","spec":{"scale":1,"scale":2}}`, []string{
			`f.yaml:1:31: spec.scale: duplicate key: "scale" is already set on line 1`,
		}},
		{"wrong types", "metadata: {name: 5}\nspec:\n  scale: big\n  steps:\n  - count: 1.5\n    targets: a\n  - count: 99999999999\n    byName: []\n  - at: 15\n  - at: 1 s\n  - [1]\n  - targets: [a, {}]\n", []string{
			`f.yaml:1:12: metadata.name: wrong type: want a string (put it in quotes), found the number 5`,
			`f.yaml:3:3: spec.scale: wrong type: want a number, found the string "big"`,
			`f.yaml:5:5: spec.steps[0].count: wrong type: want an integer, found the number 1.5`,
			`f.yaml:6:5: spec.steps[0].targets: wrong type: want a list, found the string "a"`,
			`f.yaml:7:5: spec.steps[1].count: wrong type: want an integer that fits int32, found the number 99999999999`,
			`f.yaml:8:5: spec.steps[1].byName: wrong type: want a mapping, found a list`,
			`f.yaml:9:5: spec.steps[2].at: wrong type: want a duration such as "15s" or "1m30s", found the number 15`,
			`f.yaml:10:5: spec.steps[3].at: wrong type: want a duration such as "15s" or "1m30s", found the string "1 s"`,
			`f.yaml:11:5: spec.steps[4]: wrong type: want a mapping, found a list`,
			`f.yaml:12:18: spec.steps[5].targets[1]: wrong type: want a string, found a mapping`,
		}},
		{"everything at once", "kind: [A]\nkind: [B]\nspec:\n  stepz: 1\n", []string{
			`f.yaml:1:1: kind: wrong type: want a string, found a list`,
			`f.yaml:2:1: kind: duplicate key: "kind" is already set on line 1`,
			`f.yaml:4:3: spec.stepz: unknown field; did you mean "steps"?`,
		}},
		{"not a mapping", "hello\n", []string{`f.yaml:1:1: wrong type: want a mapping, found the string "hello"`}},
		{"tab", "kind: A\nspec:\n\tscale: 1\n", []string{
			`f.yaml:3: not well-formed YAML: found character that cannot start any token (the document ends here; is it complete?)`,
		}},
		{"bad indentation", "kind: A\n spec: 1\nmetadata: {}\n", []string{
			`f.yaml:2: not well-formed YAML: mapping values are not allowed in this context`,
		}},
		{"brace that is not closed", "kind: A\nmetadata: {name: x}\nspec: {steps: [{count: 1\n", []string{
			`f.yaml:3: not well-formed YAML: did not find expected ',' or '}' (the document ends here; is it complete?)`,
		}},
		{"brace that is not closed on the first line", "metadata: {name: x\nspec: {}\n", []string{
			`f.yaml:2: not well-formed YAML: did not find expected ',' or '}' (the document ends here; is it complete?)`,
		}},
		{"bracket that is not closed before something else", "kind: A\nspec:\n  steps: [1, 2\nmetadata: {}\nother: 1\n", []string{
			`f.yaml:3: not well-formed YAML: did not find expected ',' or ']'`,
		}},
		{"key between the levels", "kind: A\nspec:\n    scale: 1\n  name: x\nmetadata: {}\n", []string{
			`f.yaml:4: not well-formed YAML: did not find expected key`,
		}},
		{"bracket that was not opened", "kind: A\nspec: ]\nmetadata: {}\n", []string{
			`f.yaml:2: not well-formed YAML: did not find expected node content`,
		}},
		{"errors behind an alias", "metadata: &m {name: 5}\nspec: {steps: [{byName: {a: *m}}]}\n", []string{
			`f.yaml:1:15: metadata.name: wrong type: want a string (put it in quotes), found the number 5`,
			`f.yaml:1:15: spec.steps[0].byName.a.name: unknown field`,
		}},
		{"errors in a merged mapping", "metadata: {name: x}\nspec:\n  <<: &m {stepz: 1}\n  scale: 2\n", []string{
			`f.yaml:3:11: spec.stepz: unknown field; did you mean "steps"?`,
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var target scenario
			err := first(t, test.text).Decode(&target)
			if err == nil {
				t.Fatal("Decode succeeded, want errors")
			}
			if diff := cmp.Diff(test.want, strings.Split(err.Error(), "\n")); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecodeLenient(t *testing.T) {
	var target scenario
	if err := first(t, "kind: A\nnew: 1\nspec: {scale: 2, other: {}}\n").DecodeLenient(&target); err != nil {
		t.Errorf("DecodeLenient with unknown fields: %v", err)
	}
	if target.Kind != "A" || target.Spec.Scale != 2 {
		t.Errorf("DecodeLenient = %+v", target)
	}
	err := first(t, "kind: A\nkind: B\n").DecodeLenient(&target)
	if err == nil || !strings.Contains(err.Error(), "f.yaml:2:1: kind: duplicate key") {
		t.Errorf("DecodeLenient with a duplicate key = %v", err)
	}
}

func TestDecodeField(t *testing.T) {
	document := first(t, "spec:\n  steps:\n  - object:\n      kind: Pod\n      metadata:\n        nam: x\n        labels: [a]\n")
	var outer scenario
	if err := document.Decode(&outer); err != nil {
		t.Fatalf("Decode: %v", err)
	}
	var inner struct {
		Kind     string `json:"kind"`
		Metadata meta   `json:"metadata"`
	}
	err := document.DecodeField("spec.steps[0].object", outer.Spec.Steps[0].Object.Raw, &inner)
	want := []string{
		`f.yaml:6:9: spec.steps[0].object.metadata.nam: unknown field; did you mean "name"?`,
		`f.yaml:7:9: spec.steps[0].object.metadata.labels: wrong type: want a mapping, found a list`,
	}
	if err == nil {
		t.Fatal("DecodeField succeeded, want errors")
	}
	if diff := cmp.Diff(want, strings.Split(err.Error(), "\n")); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
	err = document.DecodeFieldLenient("spec.steps[0].object", []byte(`{"kind":"Pod","metadata":{"nam":"x"}}`), &inner)
	if err != nil {
		t.Errorf("DecodeFieldLenient with an unknown field: %v", err)
	}
}

func TestDecodeNeedsPointer(t *testing.T) {
	var none *scenario
	for _, target := range []any{nil, scenario{}, none} {
		if err := first(t, "kind: A\n").Decode(target); err == nil {
			t.Errorf("Decode into %T succeeded", target)
		}
	}
}

type explosive struct{}

func (*explosive) UnmarshalJSON([]byte) error { panic("boom") }

func TestPanicOfTypeIsError(t *testing.T) {
	var target struct {
		A explosive `json:"a"`
	}
	err := first(t, "a: 1\n").Decode(&target)
	if err == nil || !strings.Contains(err.Error(), "f.yaml:1:1: a: ") {
		t.Errorf("Decode = %v, want an error at a", err)
	}
}

func TestAliasBomb(t *testing.T) {
	var b strings.Builder
	b.WriteString("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n")
	for i := range 9 {
		b.WriteString("a" + string(rune('1'+i)) + ": &a" + string(rune('1'+i)) + " [")
		b.WriteString(strings.Repeat("*a"+string(rune('0'+i))+",", 10))
		b.WriteString("]\n")
	}
	var target map[string]any
	err := first(t, b.String()).Decode(&target)
	if err == nil || !strings.Contains(err.Error(), "f.yaml:7:14: alias *a5: aliases lengthen") {
		t.Errorf("Decode = %.200v, want it refused for its aliases", err)
	}
}

func TestSelfReference(t *testing.T) {
	document := first(t, "a: &a\n  <<: [*a, *a]\n  b: *a\n")
	var target map[string]any
	if err := document.Decode(&target); err == nil {
		t.Error("Decode of a mapping that contains itself succeeded")
	}
	if got := document.Position("a.b.b.c"); got.Line != 3 {
		t.Errorf("Position = %v, want line 3", got)
	}
}

func TestDeepNesting(t *testing.T) {
	for _, text := range []string{
		strings.Repeat("[", 200000),
		strings.Repeat(`{"a":`, 20000) + "1" + strings.Repeat("}", 20000),
		strings.Repeat("- ", 20000),
	} {
		var target map[string]any
		err := first(t, text).Decode(&target)
		if err == nil || !strings.HasPrefix(err.Error(), "f.yaml") {
			t.Errorf("Decode of %.10q... = %.200v, want an error with the file", text, err)
		}
	}
}

func TestErrorsAs(t *testing.T) {
	var target scenario
	err := first(t, "spec: {stepz: 1}\n").Decode(&target)
	var located *Error
	if !errors.As(err, &located) {
		t.Fatalf("errors.As found no *Error in %v", err)
	}
	want := Error{File: "f.yaml", Line: 1, Column: 8, Field: "spec.stepz", Message: "unknown field", Suggestion: "steps", Strict: true}
	got := *located
	got.Err = nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
}
