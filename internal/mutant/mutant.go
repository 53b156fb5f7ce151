// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package mutant

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// module is the first line of the go.mod file of the module whose sources are mutated.
const module = "module github.com/rouse-scheduler/rouse\n"

// Mutant is an error that can be put into the sources.
type Mutant struct {
	// Name tells mutants of a list apart.
	Name string
	// File is the path of the file from the root of the module, with slashes.
	File string
	// Find is the text to replace; it must occur exactly once in the file. Replace is what takes its place; the file
	// must still compile.
	Find, Replace string
}

// Root returns the root folder of the module, found from the working directory upward. It is also found from a module
// nested in it.
func Root() (string, error) {
	folder, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("looking for the root of the module: %w", err)
	}
	for from := folder; ; folder = filepath.Dir(folder) {
		text, err := os.ReadFile(filepath.Join(folder, "go.mod"))
		if err == nil && strings.HasPrefix(string(text), module) {
			return folder, nil
		}
		if folder == filepath.Dir(folder) {
			return "", fmt.Errorf("looking for the root of the module: no go.mod with %q in %s or above", strings.TrimSpace(module), from)
		}
	}
}

// Check returns an error that names every mutant whose text is not in its file exactly once, or whose name is taken.
// Root is the root folder of the module.
func Check(root string, mutants []Mutant) error {
	var errs []error
	names := map[string]bool{}
	for _, m := range mutants {
		if names[m.Name] {
			errs = append(errs, fmt.Errorf("two mutants are called %q", m.Name))
		}
		names[m.Name] = true
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(m.File)))
		if err == nil {
			_, err = m.apply(string(text))
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("mutant %q: %w", m.Name, err))
		}
	}
	return errors.Join(errs...)
}

// apply returns the text of the file with the error in it.
func (m Mutant) apply(text string) (string, error) {
	if found := strings.Count(text, m.Find); m.Find == "" || found != 1 {
		return "", fmt.Errorf("its text must occur once in %s, but does so %d times: %q", m.File, found, m.Find)
	}
	if m.Find == m.Replace {
		return "", fmt.Errorf("it changes nothing in %s", m.File)
	}
	return strings.Replace(text, m.Find, m.Replace, 1), nil
}

// Overlay writes what the -overlay flag of go build, go test and go vet takes, with all of the given mutants put in, and
// returns the path of that file. Root is the root folder of the module; the files are written to folder.
func Overlay(root, folder string, mutants ...Mutant) (string, error) {
	texts := map[string]string{}
	for _, m := range mutants {
		path := filepath.Join(root, filepath.FromSlash(m.File))
		text, read := texts[path]
		if !read {
			original, err := os.ReadFile(path)
			if err != nil {
				return "", fmt.Errorf("putting in mutant %q: %w", m.Name, err)
			}
			text = string(original)
		}
		mutated, err := m.apply(text)
		if err != nil {
			return "", fmt.Errorf("putting in mutant %q: %w", m.Name, err)
		}
		texts[path] = mutated
	}
	var overlay struct{ Replace map[string]string }
	overlay.Replace = map[string]string{}
	for path, text := range texts {
		mutated := filepath.Join(folder, fmt.Sprintf("mutated%d.go", len(overlay.Replace)))
		if err := os.WriteFile(mutated, []byte(text), 0o600); err != nil {
			return "", fmt.Errorf("writing the mutated %s: %w", path, err)
		}
		overlay.Replace[path] = mutated
	}
	list, err := json.Marshal(overlay)
	if err != nil {
		return "", fmt.Errorf("writing the overlay of mutants: %w", err)
	}
	file := filepath.Join(folder, "overlay.json")
	if err := os.WriteFile(file, list, 0o600); err != nil {
		return "", fmt.Errorf("writing the overlay of mutants: %w", err)
	}
	return file, nil
}
