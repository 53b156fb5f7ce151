// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package plugintest_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestDocumentationQuotesExample checks that every block of Go and YAML in docs/writing-a-plugin.md is, word for word, in
// a file of examples/, where it is compiled and run.
func TestDocumentationQuotesExample(t *testing.T) {
	page, err := os.ReadFile("../docs/writing-a-plugin.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := codeBlocks(string(page))
	if len(blocks["go"]) < 5 || len(blocks["yaml"]) < 2 {
		t.Fatalf("found %d blocks of Go and %d of YAML; is the page read correctly?", len(blocks["go"]), len(blocks["yaml"]))
	}
	files := exampleFiles(t)
	for language, texts := range blocks {
		extension := "." + language
		if !slices.Contains([]string{".go", ".yaml"}, extension) {
			t.Errorf("a block of %q can't be checked; indent it by four spaces instead", language)
			continue
		}
		for _, text := range texts {
			quoted := slices.ContainsFunc(files[extension], func(file string) bool { return strings.Contains(file, text) })
			if !quoted {
				t.Errorf("no %s file in examples/ has this block:\n%s", extension, text)
			}
		}
	}
}

// codeBlocks returns the fenced blocks of a Markdown text by language.
func codeBlocks(text string) map[string][]string {
	const fence = "```"
	blocks := map[string][]string{}
	language, block, inside := "", "", false
	for line := range strings.Lines(text) {
		switch {
		case !inside && strings.HasPrefix(line, fence):
			language, block, inside = strings.TrimSpace(strings.TrimPrefix(line, fence)), "", true
		case inside && strings.HasPrefix(line, fence):
			blocks[language], inside = append(blocks[language], block), false
		case inside:
			block += line
		}
	}
	return blocks
}

// exampleFiles returns the contents of all files of examples/ by extension.
func exampleFiles(t *testing.T) map[string][]string {
	t.Helper()
	files := map[string][]string{}
	err := filepath.WalkDir("../examples", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		extension := filepath.Ext(path)
		files[extension] = append(files[extension], string(content))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
