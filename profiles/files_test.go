// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package profiles

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	brokenFiles = "../testdata/broken/profiles"
	validFiles  = "../testdata/profiles"
)

// wantedErrors returns what a broken file says about itself in "# want:" comments.
func wantedErrors(data []byte) []string {
	var wanted []string
	for line := range strings.Lines(string(data)) {
		if want, found := strings.CutPrefix(line, "# want: "); found {
			wanted = append(wanted, strings.TrimSpace(want))
		}
	}
	return wanted
}

// wantedOfPlainFiles has what the files must say that cannot have comments.
func wantedOfPlainFiles() map[string][]string {
	return map[string][]string{
		"binary.yaml":          {"binary.yaml:1:8: not a text file: byte 0x00"},
		"empty.yaml":           {"empty.yaml: the file is empty"},
		"duplicate-field.json": {`duplicate-field.json:5:3: parallelism: duplicate key: "parallelism" is already set on line 4`},
		"truncated.json":       {"truncated.json:4:39: not well-formed JSON: unexpected end of JSON input"},
	}
}

func TestBrokenFiles(t *testing.T) {
	entries, err := os.ReadDir(brokenFiles)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) < 10 {
		t.Fatalf("only %d broken files", len(entries))
	}
	for _, entry := range entries {
		t.Run(entry.Name(), func(t *testing.T) {
			path := filepath.Join(brokenFiles, entry.Name())
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			wanted := wantedOfPlainFiles()[entry.Name()]
			if wanted == nil {
				wanted = wantedErrors(data)
			}
			if len(wanted) == 0 {
				t.Fatal(`the file has no "# want:" comment`)
			}
			_, err = Load(path, Options{KnownPlugins: knownPlugins()})
			got := lines(err)
			if len(got) == 0 {
				t.Fatal("the file loads without an error")
			}
			text := strings.Join(got, "\n")
			covered := make(map[int]bool)
			for _, want := range wanted {
				if !strings.Contains(text, want) {
					t.Errorf("no error with %q in:\n%s", want, text)
				}
				for i, line := range got {
					if strings.Contains(line, want) {
						covered[i] = true
					}
				}
			}
			for i, line := range got {
				if !covered[i] {
					t.Errorf("unexpected error %s", line)
				}
				if !strings.HasPrefix(line, path+":") {
					t.Errorf("error does not start with the file: %s", line)
				}
			}
		})
	}
}

func TestValidFiles(t *testing.T) {
	entries, err := os.ReadDir(validFiles)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) < 5 {
		t.Fatalf("only %d files", len(entries))
	}
	for _, entry := range entries {
		t.Run(entry.Name(), func(t *testing.T) {
			config, err := Load(filepath.Join(validFiles, entry.Name()), Options{})
			if err != nil {
				t.Fatal(err)
			}
			checkRoundTrip(t, config)
		})
	}
}

// checkRoundTrip writes a configuration, loads that, and compares.
func checkRoundTrip(t *testing.T, config *Configuration) {
	t.Helper()
	written, err := config.YAML()
	if err != nil {
		t.Fatalf("YAML: %v", err)
	}
	again, err := Parse("written.yaml", written, Options{})
	if err != nil {
		t.Fatalf("loading what was written: %v\n%s", err, written)
	}
	if diff := cmp.Diff(settingsOf(config), settingsOf(again)); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(config.Profiles, again.Profiles, configOptions...); diff != "" {
		t.Errorf("profiles (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(config.Extenders, again.Extenders); diff != "" {
		t.Errorf("extenders (-want +got):\n%s", diff)
	}
	if differences := Diff(config, again, nil); len(differences) > 0 {
		t.Errorf("Diff finds differences: %v", differences)
	}
	twice, err := again.YAML()
	if err != nil {
		t.Fatalf("YAML: %v", err)
	}
	if diff := cmp.Diff(string(written), string(twice)); diff != "" {
		t.Errorf("written twice (-first +second):\n%s", diff)
	}
}
