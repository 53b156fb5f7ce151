// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rouse-scheduler/rouse/inspect"
	"github.com/rouse-scheduler/rouse/internal/render"
)

const published = "../../docs/explain.schema.json"

// TestExplanationSchema has the published schema be that of the type, and all known explanations follow it.
func TestExplanationSchema(t *testing.T) {
	golden(t, filepath.Join("..", published), func(to io.Writer) error {
		return render.Schema(to, "rouse explain -o json", inspect.Explanation{})
	})
	text, err := os.ReadFile(published)
	if err != nil {
		t.Fatal(err)
	}
	var schema map[string]any
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	for _, name := range viewNames(t) {
		if !strings.HasPrefix(name, "explain_") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(views, name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		var explanation any
		if err := json.Unmarshal(text, &explanation); err != nil {
			t.Fatal(err)
		}
		for _, violation := range violations("explanation", explanation, schema) {
			t.Errorf("%s: %s", name, violation)
		}
	}
	for wrong, want := range map[string]string{
		`{"at": 5}`:                     "explanation.at is no string",
		`{"nodes": [{"name": "n1"}]}`:   "explanation.nodes[0] has no things",
		`{"suggestions": {"node": ""}}`: "explanation.suggestions is no array",
	} {
		var explanation any
		if err := json.Unmarshal([]byte(wrong), &explanation); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(violations("explanation", explanation, schema), "\n"); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q among them", wrong, got, want)
		}
	}
}

// violations returns how a value departs from a schema.
func violations(at string, value any, schema map[string]any) (found []string) {
	switch kind := schema["type"]; typed := value.(type) {
	case map[string]any:
		if kind != "object" {
			return []string{fmt.Sprintf("%s is no %v", at, kind)}
		}
		required, _ := schema["required"].([]any)
		for _, name := range required {
			if _, has := typed[name.(string)]; !has {
				found = append(found, fmt.Sprintf("%s has no %v", at, name))
			}
		}
		properties, _ := schema["properties"].(map[string]any)
		for name, field := range typed {
			of, known := properties[name].(map[string]any)
			if values, isMap := schema["additionalProperties"].(map[string]any); isMap {
				of, known = values, true
			}
			if !known {
				found = append(found, fmt.Sprintf("%s has %s, which the schema does not know", at, name))
				continue
			}
			found = append(found, violations(at+"."+name, field, of)...)
		}
	case []any:
		if kind != "array" {
			return []string{fmt.Sprintf("%s is no %v", at, kind)}
		}
		for i, item := range typed {
			found = append(found, violations(fmt.Sprintf("%s[%d]", at, i), item, schema["items"].(map[string]any))...)
		}
	case string:
		if kind != "string" {
			return []string{fmt.Sprintf("%s is no %v", at, kind)}
		}
	case bool:
		if kind != "boolean" {
			return []string{fmt.Sprintf("%s is no %v", at, kind)}
		}
	case float64:
		if kind != "integer" && kind != "number" {
			return []string{fmt.Sprintf("%s is no %v", at, kind)}
		}
	default:
		return []string{fmt.Sprintf("%s is null", at)}
	}
	return found
}
