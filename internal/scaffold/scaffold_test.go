// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scaffold_test

import (
	"bytes"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rouse-scheduler/rouse/internal/scaffold"
)

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestNewModuleIsGreen writes a module and runs what its README says, but for go mod tidy, which needs the network: what that would
// add to go.mod and go.sum is taken from an example that requires the same modules.
func TestNewModuleIsGreen(t *testing.T) {
	checkout, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), "module")
	module := &scaffold.Module{Name: "SpotPool", Path: "example.com/spotpool", Version: "v0.0.0", Replace: filepath.ToSlash(checkout)}
	if _, err := scaffold.Write(folder, module); err != nil {
		t.Fatal(err)
	}
	example := filepath.Join(checkout, "examples", "rackscheduler")
	_, indirect, found := strings.Cut(read(t, filepath.Join(example, "go.mod")), "\n)\n")
	if !found {
		t.Fatal("the go.mod of the example has no block of requirements")
	}
	indirect, _, _ = strings.Cut(indirect, "\n// Only because")
	goMod := filepath.Join(folder, "go.mod")
	if err := os.WriteFile(goMod, []byte(read(t, goMod)+indirect), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "go.sum"), []byte(read(t, filepath.Join(example, "go.sum"))), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"go vet ./...", "go test -vet=off ./..."} {
		words := strings.Fields(line)
		command := exec.CommandContext(t.Context(), words[0], words[1:]...)
		command.Dir = folder
		command.Env = append(os.Environ(), "GOWORK=off")
		if output, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", line, err, output)
		}
	}
}

// TestSourcesAreFormatted does that for names that change the order or the length of lines.
func TestSourcesAreFormatted(t *testing.T) {
	for _, name := range []string{"A", "SpotPool", "Objects", "ZoneAwarePlacementOfBatchJobs2"} {
		folder := t.TempDir()
		files, err := scaffold.Write(folder, &scaffold.Module{Name: name, Path: "zz.example.com/x", Version: "v1.2.3"})
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if filepath.Ext(file) != ".go" {
				continue
			}
			source := []byte(read(t, filepath.Join(folder, file)))
			formatted, err := format.Source(source)
			if err != nil {
				t.Errorf("%s of plugin %s: %v", file, name, err)
			}
			if !bytes.Equal(formatted, source) {
				t.Errorf("%s of plugin %s is not formatted with gofmt", file, name)
			}
		}
	}
}

// TestVersions checks that a new module requires what Rouse does.
func TestVersions(t *testing.T) {
	text := read(t, "../../go.mod")
	for _, want := range []string{
		"\ngo " + scaffold.GoVersion + "\n", "k8s.io/kube-scheduler " + scaffold.KubernetesVersion, "k8s.io/klog/v2 " + scaffold.KlogVersion,
		"github.com/google/go-cmp " + scaffold.GoCmpVersion,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("go.mod has no %q", want)
		}
	}
}

func TestNames(t *testing.T) {
	tests := []struct{ name, path, want string }{
		{"rackBudget", "example.com/x", "must begin with an upper-case letter"},
		{"Rack-Budget", "example.com/x", "only letters and digits"},
		{"", "example.com/x", "must begin with an upper-case letter"},
		{"../Rack", "example.com/x", "only letters and digits"},
		{"Ünit", "example.com/x", "must begin with an upper-case letter"},
		{"Type", "example.com/x", "keyword of Go"},
		{"Main", "example.com/x", "means something else to Go"},
		{"Rack", "example.com/x y", "no path for a module"},
		{"Rack", "../x", "no path for a module"},
		{"Rack", "example.com//x", "no path for a module"},
	}
	for _, test := range tests {
		folder := t.TempDir()
		_, err := scaffold.Write(folder, &scaffold.Module{Name: test.name, Path: test.path})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("name %q, path %q: got %v, want an error with %q", test.name, test.path, err, test.want)
		}
		if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
			t.Errorf("name %q: files were written: %v, %v", test.name, left, err)
		}
	}
}

// TestNothingIsOverwritten has a folder with a file in the way, and one that is not.
func TestNothingIsOverwritten(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"README.md", "LICENSE"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("mine"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	module := &scaffold.Module{Name: "Rack", Path: "example.com/rack", Version: "v1.0.0"}
	if _, err := scaffold.Write(folder, module); err == nil || !strings.Contains(err.Error(), "README.md exists already") || strings.Contains(err.Error(), "LICENSE") {
		t.Errorf("got %v, want an error that names README.md alone", err)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) != 2 || read(t, filepath.Join(folder, "README.md")) != "mine" {
		t.Errorf("the folder was changed: %v, %v", left, err)
	}
	if err := os.Remove(filepath.Join(folder, "README.md")); err != nil {
		t.Fatal(err)
	}
	files, err := scaffold.Write(folder, module)
	if err != nil || !slices.Contains(files, filepath.Join("rack", "plugin.go")) || !slices.Contains(files, ".gitignore") {
		t.Errorf("got %q, %v", files, err)
	}
}
