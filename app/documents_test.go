// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rouse-scheduler/rouse/app"
)

// TestCommandsOfTheDocumentsWork runs every command that the README and the documents show, in a folder that looks like
// a clone with the output of kubectl in it, next to a running scheduler.
func TestCommandsOfTheDocumentsWork(t *testing.T) {
	documents, err := filepath.Glob("../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	commands := map[string][]string{}
	for _, document := range append(documents, "../README.md") {
		text, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		commands[document] = shellCommands(string(text), "go run ./cmd/rouse ")
	}
	if len(commands["../README.md"]) < 5 {
		t.Errorf("the README shows %d commands, want at least 5: %q", len(commands["../README.md"]), commands["../README.md"])
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	clone := t.TempDir()
	for name, target := range map[string]string{"testdata": "testdata", "examples": "examples", "test": "test", "cluster.yaml": "testdata/kubectl/cluster.yaml"} {
		if err := os.Symlink(filepath.Join(root, target), filepath.Join(clone, name)); err != nil {
			t.Fatal(err)
		}
	}
	write(t, clone, "token", "secret")
	scheduler := start(t, waitingPods(t), []string{"--leader-elect=false", open})
	scheduler.answers("/explain/pods/shop/web", 200)
	t.Chdir(clone)
	for document, lines := range commands {
		for _, line := range lines {
			t.Run(filepath.Base(document)+": "+line, func(t *testing.T) {
				var out, errOut bytes.Buffer
				command := app.NewSchedulerCommand()
				command.SetArgs(strings.Fields(strings.ReplaceAll(line, "https://localhost:10259", scheduler.url)))
				command.SetOut(&out)
				command.SetErr(&errOut)
				if err := command.Execute(); err != nil {
					t.Fatalf("%v\n%s", err, errOut.String())
				}
				if out.Len() == 0 {
					t.Error("the command printed nothing")
				}
			})
		}
	}
}

// shellCommands returns the rest of every line in a sh block that begins with prefix, without comments.
func shellCommands(document, prefix string) []string {
	var commands []string
	inBlock := false
	for line := range strings.Lines(document) {
		if strings.HasPrefix(line, "```") {
			inBlock = strings.TrimSpace(line) == "```sh"
			continue
		}
		if command, found := strings.CutPrefix(line, prefix); found && inBlock {
			command, _, _ = strings.Cut(command, "#")
			commands = append(commands, strings.TrimSpace(command))
		}
	}
	return commands
}
