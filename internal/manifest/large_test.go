// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"fmt"
	"strings"
	"testing"
)

// largeFile is count JSON documents, one a line, of about 4 kB each.
func largeFile(count int) []byte {
	var b strings.Builder
	padding := strings.Repeat("x", 3800)
	for i := range count {
		fmt.Fprintf(&b, `{"kind":"Pod","metadata":{"name":"pod-%d","labels":{"padding":"%s"}}}`+"\n", i, padding)
	}
	return []byte(b.String())
}

func TestLargeFile(t *testing.T) {
	const count = 2000
	data := append(largeFile(count), `{"kind":"Pod","metadata":{"nmae":"last"}}`...)
	documents, err := Split("large.json", data)
	if err != nil {
		t.Fatal(err)
	}
	if len(documents) != count+1 {
		t.Fatalf("Split found %d documents, want %d", len(documents), count+1)
	}
	var errs ErrorList
	for _, document := range documents {
		var target scenario
		errs.Add(document.Decode(&target))
		if document.treeRoot != nil != (document.Index == count) {
			t.Fatalf("document %d: node tree built: %t", document.Index, document.treeRoot != nil)
		}
	}
	want := `large.json:2001:27: metadata.nmae: unknown field; did you mean "name"?`
	if err := errs.Err(); err == nil || err.Error() != want {
		t.Errorf("error = %v, want %s", err, want)
	}
}

func BenchmarkLargeFile(b *testing.B) {
	data := largeFile(8000)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		documents, err := Split("large.json", data)
		if err != nil {
			b.Fatal(err)
		}
		for _, document := range documents {
			var target scenario
			if err := document.Decode(&target); err != nil {
				b.Fatal(err)
			}
		}
	}
}
