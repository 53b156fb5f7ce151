// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// pod is a Pod that requests a quantity of a resource, which is on line 6.
func pod(quantity string) string {
	return "kind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - resources: {requests: {\n      cpu: " + quantity + "}}\n"
}

// TestHugeInputIsRefused has texts that a library takes any amount of time or memory for.
func TestHugeInputIsRefused(t *testing.T) {
	const huge = "name.yaml:6:7: spec.containers[0].resources.requests.cpu: the number has more than 100 digits in a row, or an exponent beyond 999"
	const jsonPod = `{"spec": {"containers": [{"resources": {"requests": {"cpu": %s}}}]}}`
	const hugeJSON = "name.yaml:1:54: spec.containers[0].resources.requests.cpu: the number has more than 100 digits in a row, or an exponent beyond 999"
	for name, test := range map[string]struct{ text, want string }{
		"exponent": {pod(`"1e-2147483648"`), huge}, "large exponent": {pod(`"1E2147483647"`), huge}, "with a sign": {pod(`"-1e+1000"`), huge},
		"digits": {pod(`"` + strings.Repeat("1", 300_000) + `"`), huge}, "digits without quotes": {pod(strings.Repeat("1", 300_000)), huge},
		"fraction":                {pod(`"0.` + strings.Repeat("0", 300_000) + `1"`), huge},
		"suffix":                  {pod(`"` + strings.Repeat("1", 300_000) + `Gi"`), huge},
		"exponent in JSON":        {fmt.Sprintf(jsonPod, `"1e-2147483648"`), hugeJSON},
		"number in JSON":          {fmt.Sprintf(jsonPod, `1e-2147483648`), hugeJSON},
		"escaped sign in JSON":    {fmt.Sprintf(jsonPod, `"1\u0065-2147483648"`), hugeJSON},
		"escaped digits in JSON":  {fmt.Sprintf(jsonPod, `"1e\u0032147483648"`), hugeJSON},
		"escaped letters in JSON": {fmt.Sprintf(jsonPod, `"1e\u002D2147483648"`), hugeJSON},
		"aliases of a long text": {
			"a: &a " + strings.Repeat("x", 100_000) + "\nb:\n" + strings.Repeat("- *a\n", 20_000),
			"name.yaml:170:3: alias *a: aliases lengthen the document by more than 16777216 bytes",
		},
		"aliases of aliases": {
			"a: &a " + strings.Repeat("x", 100_000) + "\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a, *a, *a]\nc: [*b, *b, *b,\n *b, *b, *b, *b,\n *b, *b, *b, *b, *b, *b, *b, *b, *b, *b]\n",
			"name.yaml:5:22: alias *b: aliases lengthen the document by more than 16777216 bytes",
		},
		"deep lists": {"kind: A\nspec:\n " + strings.Repeat("[", 600) + strings.Repeat("]", 600), "name.yaml:3:501: nested deeper than 500 lists and mappings"},
		"deep JSON":  {strings.Repeat("{\"a\":\n", 600) + "1" + strings.Repeat("}", 600), "name.yaml:501:1: nested deeper than 500 lists and mappings"},
		"deep blocks": {"kind: A\nspec:\n" + strings.Repeat("- ", 600) + "1\n",
			"name.yaml:3:999: nested deeper than 500 lists and mappings"},
	} {
		t.Run(name, func(t *testing.T) {
			documents, err := Split("name.yaml", []byte(test.text))
			if err != nil {
				t.Fatal(err)
			}
			var into v1.Pod
			for what, err := range map[string]error{"Decode": documents[0].Decode(&into), "DecodeLenient": documents[0].DecodeLenient(&into)} {
				if err == nil || err.Error() != test.want {
					t.Errorf("%s: error = %.300v\nwant %s", what, err, test.want)
				}
			}
		})
	}
}

// TestLargeInputIsRead has texts that look as if they were refused, and are not.
func TestLargeInputIsRead(t *testing.T) {
	for name, text := range map[string]string{
		"label like a huge number": "metadata: {labels: {commit: \"1e99999999\"}, annotations: {n: \"" + strings.Repeat("1", 1000) + "\"}}\n",
		"exponent":                 pod(`"1e3"`), "negative exponent": pod(`"1e-3"`), "digits": pod(`"1000000000000000000"`),
		"nested":  "metadata: {annotations: {a: '" + strings.Repeat("[", 600) + "'}}\n",
		"aliases": "metadata:\n  labels: &a {a: b}\n  annotations: *a\n",
		"shell":   "metadata:\n  annotations: {a: \"x &a *a\", b: '*/5 * * * *'}\n",
	} {
		t.Run(name, func(t *testing.T) {
			documents, err := Split("name.yaml", []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			if err := documents[0].Decode(&v1.Pod{}); err != nil {
				t.Errorf("error = %v", err)
			}
		})
	}
}

func TestCheckQuantities(t *testing.T) {
	documents, err := Split("name.yaml", []byte("args:\n  a: 1\n  b: [\"1e-99999\"]\n"))
	if err != nil {
		t.Fatal(err)
	}
	raw := []byte(`{"a": 1, "b": ["1e-99999"]}`)
	const want = "name.yaml:3:7: args.b[0]: the number has more than 100 digits in a row, or an exponent beyond 999"
	quantities := struct {
		B []resource.Quantity `json:"b"`
	}{}
	texts := struct {
		B []string `json:"b"`
	}{}
	for _, err := range []error{documents[0].CheckNumbers("args", raw), documents[0].CheckQuantities("args", raw, &quantities)} {
		if err == nil || err.Error() != want {
			t.Errorf("error = %v, want %s", err, want)
		}
	}
	if err := documents[0].CheckQuantities("args", raw, &texts); err != nil {
		t.Errorf("strings are no quantities, but: %v", err)
	}
}

// endless is a file that never ends.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func TestReadHasALimit(t *testing.T) {
	if _, err := Read("standard input", endless{}, 1000); err == nil || err.Error() != "standard input: longer than 1000 bytes" {
		t.Errorf("endless text: error = %v", err)
	}
	if data, err := Read("x", bytes.NewReader(make([]byte, 1000)), 1000); err != nil || len(data) != 1000 {
		t.Errorf("text of the limit: %d bytes, error %v", len(data), err)
	}
	if _, err := Read("x", io.MultiReader(failing{}), 1000); !errors.Is(err, os.ErrClosed) {
		t.Errorf("failing reader: error = %v", err)
	}
	path := filepath.Join(t.TempDir(), "a.yaml")
	if err := os.WriteFile(path, make([]byte, 1001), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFile(path, 1000); err == nil || !strings.Contains(err.Error(), "longer than 1000 bytes") {
		t.Errorf("long file: error = %v", err)
	}
	if data, err := ReadFile(path, 1001); err != nil || len(data) != 1001 {
		t.Errorf("file of the limit: %d bytes, error %v", len(data), err)
	}
	if _, err := ReadFile(path+".missing", 1000); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: error = %v", err)
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, os.ErrClosed }

func BenchmarkDecodeChecksQuantities(b *testing.B) {
	text := []byte(`{"metadata":{"name":"a","annotations":{"a":"` + strings.Repeat("some text 123 ", 200) + `"}}}`)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if mayHaveHugeNumbers(text) || tooDeep(text) >= 0 {
			b.Fatal("the text is ordinary")
		}
	}
}
