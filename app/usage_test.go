// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app_test

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestWrongUsage(t *testing.T) {
	folder := t.TempDir()
	tests := map[string]struct {
		args string
		want string // of standard error
	}{
		"unknown command":         {"evnts", "Error: unknown command \"evnts\" for \"rouse\"; did you mean \"events\"?\nSee 'rouse --help'.\n"},
		"nothing like it":         {"dance", "Error: unknown command \"dance\" for \"rouse\"\nSee 'rouse --help'.\n"},
		"unknown command below":   {"profiles valdate x", "Error: unknown command \"valdate\" for \"rouse profiles\"; did you mean \"validate\"?\nSee 'rouse profiles --help'.\n"},
		"unknown flag":            {"events --evnt NodeAdd", "Error: unknown flag: --evnt; did you mean \"--event\"?\nSee 'rouse events --help'.\n"},
		"unknown short flag":      {"events -x", "Error: unknown shorthand flag: 'x' in -x\nSee 'rouse events --help'.\n"},
		"flag without value":      {"events --event", "Error: flag needs an argument: --event\nSee 'rouse events --help'.\n"},
		"unknown form":            {"events -o xml", "Error: invalid argument \"xml\" for \"-o, --output\" flag: the formats are text, json and yaml\nSee 'rouse events --help'.\n"},
		"form of another command": {"profiles show -o html", "Error: invalid argument \"html\" for \"-o, --output\" flag: the formats are text, json, yaml and config\nSee 'rouse profiles show --help'.\n"},
		"unknown event":           {"events --event NodeAd", "Error: there is no event or resource \"NodeAd\"; did you mean \"NodeAdd\"?\nSee 'rouse events --help'.\n"},
		"unknown plugin":          {"events --plugin NodeAfinity", "Error: there is no plugin \"NodeAfinity\"; did you mean \"NodeAffinity\"?\nSee 'rouse events --help'.\n"},
		"plugin that is not used": {"events --plugin PodState", "Error: no profile runs the plugin \"PodState\"; those that wait for events are "},
		"unknown profile":         {"events --profile defalt", "Error: there is no profile \"defalt\"; the profiles are default-scheduler\n"},
		"argument too many":       {"events NodeAdd", "Error: \"rouse events\" takes no arguments, but got \"NodeAdd\"\nSee 'rouse events --help'.\n"},
		"file too many":           {"profiles show a.yaml b.yaml", "Error: \"rouse profiles show\" takes one configuration file, but got \"b.yaml\" as well\nSee 'rouse profiles show --help'.\n"},
		"no file":                 {"profiles validate", "Error: \"rouse profiles validate\" needs at least one configuration file\nSee 'rouse profiles validate --help'.\n"},
		"nothing to compare":      {"profiles diff", "Error: \"rouse profiles diff\" needs one or two configuration files\nSee 'rouse profiles diff --help'.\n"},
		"nothing to simulate":     {"simulate", "Error: \"rouse simulate\" needs at least one file or folder\nSee 'rouse simulate --help'.\n"},
		"no number":               {"simulate --seed many x.yaml", "Error: invalid argument \"many\" for \"--seed\" flag: "},
		"missing configuration":   {"events --config FOLDER/x.yaml", "Error: open FOLDER/x.yaml: no such file or directory\n"},
		"missing input":           {"simulate FOLDER/x.yaml", "Error: stat FOLDER/x.yaml: no such file or directory\n"},
		"empty folder":            {"simulate FOLDER", "Error: FOLDER: the folder has no files that end in .yaml, .yml or .json\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := rouse(t, strings.Fields(strings.ReplaceAll(test.args, "FOLDER", folder)), withPodState())
			want := strings.ReplaceAll(test.want, "FOLDER", folder)
			if got.code != 2 {
				t.Errorf("exit code %d, want 2", got.code)
			}
			if !strings.HasPrefix(got.stderr, want) || strings.Contains(got.stderr, "Usage:") {
				t.Errorf("standard error is\n%swant\n%s", got.stderr, want)
			}
			if got.stdout != "" {
				t.Errorf("standard output is not empty:\n%s", got.stdout)
			}
		})
	}
}

func TestHelp(t *testing.T) {
	for _, args := range [][]string{{}, {"--help"}, {"profiles"}, {"simulate", "--help"}, {"help", "events"}} {
		if text := succeed(t, args); !strings.Contains(text, "Usage:\n  rouse") {
			t.Errorf("rouse %v does not explain itself:\n%s", args, text)
		}
	}
}

// TestUnderscores checks the convention that flags may be written with underscores as well.
func TestUnderscores(t *testing.T) {
	succeed(t, []string{"events", "--log_flush_frequency", "5s"})
}

func TestCompletion(t *testing.T) {
	tests := map[string]struct {
		args []string
		want []string
		not  []string
	}{
		"commands":    {[]string{""}, []string{"events", "profiles", "simulate"}, nil},
		"forms":       {[]string{"simulate", "-o", ""}, []string{"text", "json", "yaml", "html"}, nil},
		"other forms": {[]string{"events", "--output", ""}, []string{"text", "json", "yaml"}, []string{"html"}},
		"events":      {[]string{"events", "--event", "Node"}, []string{"NodeAdd", "NodeUpdateNodeLabel", "TargetPodUpdate"}, nil},
		"plugins":     {[]string{"events", "--plugin", ""}, []string{"NodeAffinity", "PodState"}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := rouse(t, append([]string{"__complete"}, test.args...), withPodState())
			offered := map[string]bool{}
			for line := range strings.Lines(got.stdout) {
				word, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
				offered[word] = true
			}
			for _, want := range test.want {
				if !offered[want] {
					t.Errorf("%q is not offered:\n%s", want, got.stdout)
				}
			}
			for _, not := range test.not {
				if offered[not] {
					t.Errorf("%q is offered", not)
				}
			}
		})
	}
	if script := succeed(t, []string{"completion", "bash"}); !strings.Contains(script, "rouse") {
		t.Errorf("the completion script does not name the command:\n%s", script)
	}
}

func TestVersion(t *testing.T) {
	type version struct{ Rouse, Revision, Go, Kubernetes string }
	got := decode[version](t, succeed(t, []string{"version", "-o", "json"}))
	if got.Rouse == "" || !strings.HasPrefix(got.Go, "1.") || got.Kubernetes != "1.37" {
		t.Errorf("version %+v", got)
	}
	if text := succeed(t, []string{"version"}); !strings.HasPrefix(text, "rouse ") || !strings.Contains(text, "\nKubernetes 1.37\n") {
		t.Errorf("version as text:\n%s", text)
	}
}

// TestTwiceInOneProcess checks that commands leave nothing behind.
func TestTwiceInOneProcess(t *testing.T) {
	path := filepath.Join("..", "testdata", "quickstart", "scheduler.yaml")
	first := succeed(t, []string{"events", "--config", path, "-o", "json"}, withPodState())
	second := succeed(t, []string{"events", "--config", path, "-o", "json"})
	if first != second {
		t.Error("the same command prints something else the second time")
	}
}
