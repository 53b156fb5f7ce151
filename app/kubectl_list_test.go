// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/rouse-scheduler/rouse/simulate"
)

// TestOneListOfResourcesEverywhere compares every command that reads a cluster for a simulation, in the documentation and
// in the help.
func TestOneListOfResourcesEverywhere(t *testing.T) {
	texts := map[string]string{}
	for _, command := range [][]string{{"simulate", "--help"}, {"explain", "pod", "--help"}, {"audit", "--help"}} {
		texts[command[0]+" --help"] = succeed(t, command)
	}
	files := []string{"../README.md"}
	pages, err := filepath.Glob("../docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("no pages in docs: %v", err)
	}
	for _, file := range append(files, pages...) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts[file] = string(text)
	}
	pattern := regexp.MustCompile(`kubectl get (\S+) (?:-A|--all-namespaces)`)
	for place, text := range texts {
		for _, match := range pattern.FindAllStringSubmatch(text, -1) {
			if match[1] != simulate.KubectlResources {
				t.Errorf("%s: %q differs from simulate.KubectlResources", place, match[0])
			}
		}
	}
	for _, place := range []string{"../README.md", "../docs/inspecting.md", "simulate --help", "explain --help", "audit --help"} {
		if !pattern.MatchString(texts[place]) {
			t.Errorf("%s: no command that reads a cluster", place)
		}
	}
}
