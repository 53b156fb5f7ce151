// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// brokenConfigurations are files with what is wrong with them: the beginnings of the lines on standard error, without
// the file name.
func brokenConfigurations() map[string]struct {
	text string
	want []string
} {
	return map[string]struct {
		text string
		want []string
	}{
		"unknown fields": {
			header + "parallelizm: 3\nprofiles:\n- plugnis: {}\n",
			[]string{":3:1: parallelizm: unknown field; did you mean \"parallelism\"?", ":5:3: profiles[0].plugnis: unknown field; did you mean \"plugins\"?"},
		},
		"unknown plugin": {
			header + "profiles:\n- plugins:\n    filter:\n      enabled: [{name: NodeAfinity}]\n",
			[]string{":6:18: profiles[0].plugins.filter.enabled[0].name: FilterPlugin \"NodeAfinity\" does not exist; did you mean \"NodeAffinity\"?"},
		},
		"plugin at the wrong point": {
			header + "profiles:\n- plugins:\n    score:\n      enabled: [{name: NodePorts}]\n",
			[]string{":6:17: profiles[0].plugins.score.enabled[0]: profile \"default-scheduler\": plugin \"NodePorts\" does not extend ScorePlugin plugin"},
		},
		"plugin twice": {
			header + "profiles:\n- plugins:\n    score:\n      enabled: [{name: ImageLocality}, {name: ImageLocality}]\n",
			[]string{":6:40: profiles[0].plugins.score.enabled[1]: profile \"default-scheduler\": plugin \"ImageLocality\" already registered as \"ScorePlugin\""},
		},
		"no plugin to bind": {
			header + "profiles:\n- plugins:\n    bind:\n      disabled: [{name: '*'}]\n",
			[]string{":5:5: profiles[0].plugins.bind: profile \"default-scheduler\": at least one bind plugin is needed"},
		},
		"wrong arguments": {
			header + "profiles:\n- pluginConfig:\n  - name: NodeResourcesFit\n    args: {scoringStrategy: {type: Wrong}}\n",
			[]string{":6:30: profiles[0].pluginConfig[0].args.scoringStrategy.type: Unsupported value: \"Wrong\""},
		},
		"arguments that only the plugin can check": {
			header + "profiles:\n- schedulerName: one\n- schedulerName: two\n  plugins: {multiPoint: {enabled: [{name: PodState}]}}\n  pluginConfig:\n  - {name: NodeAffinity}\n  - name: PodState\n    args: {ready: ''}\n",
			[]string{":9:5: profiles[1].pluginConfig[1]: initializing plugin \"PodState\": ready must not be empty"},
		},
		"value of the wrong type": {
			header + "parallelism: many\n",
			[]string{":3:1: parallelism: wrong type: want an integer, found the string \"many\""},
		},
		"values that contradict each other": {
			header + "podInitialBackoffSeconds: 5\npodMaxBackoffSeconds: 2\n",
			[]string{":4:1: podMaxBackoffSeconds: Invalid value: 2"},
		},
		"key twice": {
			header + "parallelism: 3\nparallelism: 4\n",
			[]string{":4:1: parallelism: duplicate key"},
		},
		"two profiles of a name": {
			header + "profiles: [{schedulerName: a}, {schedulerName: a}]\n",
			[]string{":3:33: profiles[1].schedulerName: Duplicate value"},
		},
		"not YAML": {
			header + "profiles: [}\n",
			[]string{":"},
		},
		"another version": {
			"apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: KubeSchedulerConfiguration\n",
			[]string{":1:1: apiVersion: no kind \"KubeSchedulerConfiguration\" is registered for version"},
		},
		"extender that cannot exist": {
			header + "extenders: [{prioritizeVerb: p, weight: 0}]\n",
			[]string{":3:33: extenders[0].weight: Invalid value: 0"},
		},
	}
}

func TestBrokenConfigurations(t *testing.T) {
	for name, test := range brokenConfigurations() {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			config := write(t, folder, "scheduler.yaml", test.text)
			node := write(t, folder, "node.yaml", "{apiVersion: v1, kind: Node, metadata: {name: n1}}")
			for _, args := range [][]string{
				{"profiles", "validate", config},
				{"profiles", "show", config},
				{"profiles", "diff", config},
				{"events", "--config", config},
				{"simulate", "--config", config, node},
				{"simulate", folder},
			} {
				got := rouse(t, args, withPodState())
				stderr := strings.TrimPrefix(got.stderr, "Using the configuration "+config+"\n")
				lines := slices.Collect(strings.Lines(stderr))
				if got.code != 2 || got.stdout != "" || len(lines) != len(test.want) {
					t.Errorf("%v: exit code %d, standard output %q, standard error:\n%s", args, got.code, got.stdout, stderr)
					continue
				}
				for i, want := range test.want {
					if !strings.HasPrefix(lines[i], config+want) {
						t.Errorf("%v: line %d of standard error is\n%swant\n%s", args, i+1, lines[i], config+want)
					}
				}
			}
		})
	}
}

func TestValidate(t *testing.T) {
	folder := t.TempDir()
	one := write(t, folder, "one.yaml", header)
	two := write(t, folder, "two.yaml", header+"profiles: [{schedulerName: a}, {schedulerName: b}]")
	if got, want := succeed(t, []string{"profiles", "validate", one, two}), one+": valid, 1 profile\n"+two+": valid, 2 profiles\n"; got != want {
		t.Errorf("printed %q, want %q", got, want)
	}

	broken := write(t, folder, "broken.yaml", header+"parallelism: 0\n")
	got := rouse(t, []string{"profiles", "validate", broken, one, filepath.Join(folder, "missing.yaml")})
	if got.code != 2 || got.stdout != one+": valid, 1 profile\n" {
		t.Errorf("exit code %d, standard output %q", got.code, got.stdout)
	}
	for _, want := range []string{broken + ":3:1: parallelism: Invalid value: 0", "Error: open " + filepath.Join(folder, "missing.yaml")} {
		if !strings.Contains(got.stderr, want) {
			t.Errorf("standard error does not say %q:\n%s", want, got.stderr)
		}
	}
}

func TestWarnings(t *testing.T) {
	config := write(t, t.TempDir(), "scheduler.yaml", header+"profiles: [{plugins: {score: {disabled: [{name: ImageLocalty}]}}}]")
	got := rouse(t, []string{"profiles", "validate", config})
	if want := "Warning: " + config + ":3:"; got.code != 0 || !strings.HasPrefix(got.stderr, want) || !strings.Contains(got.stderr, "did you mean \"ImageLocality\"?") {
		t.Errorf("exit code %d, standard error:\n%s", got.code, got.stderr)
	}
}

// shownConfiguration is the form of rouse profiles show -o json.
type shownConfiguration struct {
	Source   string         `json:"source"`
	Settings map[string]any `json:"settings"`
	Profiles []struct {
		SchedulerName            string `json:"schedulerName"`
		PercentageOfNodesToScore *int32 `json:"percentageOfNodesToScore"`
		ExtensionPoints          []struct {
			Name    string        `json:"name"`
			Plugins []shownPlugin `json:"plugins"`
		} `json:"extensionPoints"`
		PluginConfig []struct {
			Name string `json:"name"`
			Args any    `json:"args"`
		} `json:"pluginConfig"`
	} `json:"profiles"`
	Extenders []any `json:"extenders"`
}

type shownPlugin struct {
	Name   string `json:"name"`
	Weight int32  `json:"weight"`
	From   string `json:"from"`
}

func TestShow(t *testing.T) {
	config := write(t, t.TempDir(), "scheduler.yaml", podStateConfiguration+"    score: {enabled: [{name: NodeAffinity, weight: 9}]}\n  pluginConfig: [{name: PodState, args: {ready: here}}]\nparallelism: 8\n")
	shown := decode[shownConfiguration](t, succeed(t, []string{"profiles", "show", config, "-o", "json"}, withPodState()))
	if shown.Source != config || shown.Settings["parallelism"] != 8.0 || len(shown.Profiles) != 1 {
		t.Fatalf("shown: %+v", shown)
	}
	points := map[string][]shownPlugin{}
	for _, point := range shown.Profiles[0].ExtensionPoints {
		points[point.Name] = point.Plugins
	}
	if len(points) != 15 {
		t.Errorf("%d extension points are shown, want all 15", len(points))
	}
	score := points["score"]
	if want := (shownPlugin{"NodeAffinity", 9, "named"}); score[0] != want {
		t.Errorf("first score plugin %+v, want %+v", score[0], want)
	}
	if want := (shownPlugin{"PodState", 4, "multiPoint"}); score[len(score)-1] != want {
		t.Errorf("last score plugin %+v, want %+v", score[len(score)-1], want)
	}
	filter := points["filter"]
	if want := (shownPlugin{"PodState", 0, "multiPoint"}); filter[len(filter)-1] != want {
		t.Errorf("last filter plugin %+v, want %+v", filter[len(filter)-1], want)
	}
	if want := (shownPlugin{"PrioritySort", 0, "default"}); points["queueSort"][0] != want {
		t.Errorf("queue sort plugin %+v, want %+v", points["queueSort"][0], want)
	}
	for _, config := range shown.Profiles[0].PluginConfig {
		if config.Name == "PodState" {
			if diff := cmp.Diff(map[string]any{"ready": "here"}, config.Args); diff != "" {
				t.Errorf("arguments of PodState (-want +got):\n%s", diff)
			}
		}
	}
	text := succeed(t, []string{"profiles", "show", config}, withPodState())
	for _, want := range []string{"Configuration " + config, "Profile inspected", "plugins.multiPoint", "  Arguments of PodState\n    ready: here\n", "  parallelism: 8\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("the text does not say %q:\n%s", want, text)
		}
	}
}

func TestShowChoosesProfiles(t *testing.T) {
	config := write(t, t.TempDir(), "scheduler.yaml", header+"profiles: [{schedulerName: one}, {schedulerName: two}]")
	shown := decode[shownConfiguration](t, succeed(t, []string{"profiles", "show", config, "--profile", "two", "-o", "json"}))
	if len(shown.Profiles) != 1 || shown.Profiles[0].SchedulerName != "two" {
		t.Errorf("profiles: %+v", shown.Profiles)
	}
	shown = decode[shownConfiguration](t, succeed(t, []string{"profiles", "show", "-o", "json"}))
	if len(shown.Profiles) != 1 || shown.Source != "" {
		t.Errorf("default configuration: %+v", shown)
	}
}

func TestDiff(t *testing.T) {
	folder := t.TempDir()
	first := write(t, folder, "first.yaml", header+"profiles: [{plugins: {score: {disabled: [{name: ImageLocality}]}}}]")
	again := write(t, folder, "again.yaml", header+"parallelism: 16\nprofiles: [{plugins: {multiPoint: {disabled: [{name: ImageLocality}]}}}]")
	other := write(t, folder, "other.yaml", header+"profiles: [{plugins: {score: {enabled: [{name: NodeAffinity, weight: 7}]}}}]")

	type differences struct {
		Old, New    string
		Differences []struct{ Profile, Field, Old, New string }
	}
	got := rouse(t, []string{"profiles", "diff", first, other, "-o", "json"})
	diff := decode[differences](t, got.stdout)
	if got.code != 1 || got.stderr != "" || diff.Old != first || diff.New != other {
		t.Errorf("exit code %d, standard error %q, compared %s with %s", got.code, got.stderr, diff.Old, diff.New)
	}
	fields := map[string]string{}
	for _, difference := range diff.Differences {
		fields[difference.Profile+" "+difference.Field] = difference.Old + " -> " + difference.New
	}
	if fields["default-scheduler plugins.score[ImageLocality]"] != " -> weight 1" ||
		fields["default-scheduler plugins.score[NodeAffinity]"] != "weight 2 -> weight 7" {
		t.Errorf("differences: %v", fields)
	}

	if got, want := succeed(t, []string{"profiles", "diff", first, again}), "The configurations have the same effect.\n"; got != want {
		t.Errorf("two ways to write the same thing:\n%s", got)
	}
	if got := rouse(t, []string{"profiles", "diff", first}); got.code != 1 || !strings.HasPrefix(got.stdout, "--- default configuration\n+++ "+first) {
		t.Errorf("compared with the default configuration: exit code %d:\n%s", got.code, got.stdout)
	}
	broken := write(t, folder, "broken.yaml", header+"x: 1\n")
	if got := rouse(t, []string{"profiles", "diff", broken, broken}); got.code != 2 || strings.Count(got.stderr, "unknown field") != 1 {
		t.Errorf("broken configuration: exit code %d, standard error:\n%s", got.code, got.stderr)
	}
}
