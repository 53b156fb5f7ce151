// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNewPlugin checks what the command makes of its flags; what it writes is compiled and run in internal/scaffold.
func TestNewPlugin(t *testing.T) {
	checkout, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	output := succeed(t, []string{"plugins", "new", "SpotPool", "--replace", checkout, "--module", "example.org/sched"})
	for _, want := range []string{filepath.Join("spotpool", "spotpool", "plugin.go") + "\n", "go mod tidy\n"} {
		if !strings.Contains(output, want) {
			t.Errorf("no %q in\n%s", want, output)
		}
	}
	text, err := os.ReadFile("spotpool/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	_, replaced, _ := strings.Cut(string(text), "replace github.com/rouse-scheduler/rouse => ")
	if info, err := os.Stat(filepath.Join("spotpool", strings.TrimSpace(replaced), "go.mod")); err != nil || info.IsDir() {
		t.Errorf("go.mod does not lead to the clone: %v\n%s", err, text)
	}
	if !strings.HasPrefix(string(text), "module example.org/sched\n") {
		t.Errorf("unexpected go.mod:\n%s", text)
	}
	if output := succeed(t, []string{"plugins", "new", "Other", "--dir", "x"}); !strings.Contains(output, "go mod edit -replace") {
		t.Errorf("nothing says what to do as long as no version is published:\n%s", output)
	}

	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"again":        {[]string{"SpotPool"}, "go.mod exists already"},
		"in-tree":      {[]string{"NodeName"}, "there is a plugin NodeName already"},
		"no name":      {nil, "needs the name of the plugin"},
		"no clone":     {[]string{"Rack", "--replace", "spotpool"}, "spotpool is no clone of"},
		"lower case":   {[]string{"rack"}, "must begin with an upper-case letter"},
		"unknown flag": {[]string{"Rack", "--modul", "x"}, `did you mean "--module"?`},
	} {
		t.Run(name, func(t *testing.T) {
			got := rouse(t, append([]string{"plugins", "new"}, test.args...))
			if got.code != 2 || !strings.Contains(got.stderr, test.want) {
				t.Errorf("exit code %d, want 2 and %q:\n%s", got.code, test.want, got.stderr)
			}
		})
	}
}
