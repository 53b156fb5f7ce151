// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package profiles

import (
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	componentconfig "k8s.io/component-base/config"
	"k8s.io/utils/ptr"
)

func TestParseErrors(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string
	}{
		{"no apiVersion", "kind: KubeSchedulerConfiguration\n", []string{
			`config.yaml:1:1: apiVersion: Object 'apiVersion' is missing; write apiVersion: kubescheduler.config.k8s.io/v1`,
		}},
		{"no kind", "apiVersion: kubescheduler.config.k8s.io/v1\n", []string{
			`config.yaml:1:1: kind: Object 'Kind' is missing; write kind: KubeSchedulerConfiguration`,
		}},
		{"neither", "parallelism: 1\n", []string{
			`config.yaml:1:1: apiVersion: Object 'apiVersion' is missing; write apiVersion: kubescheduler.config.k8s.io/v1`,
			`config.yaml:1:1: kind: Object 'Kind' is missing; write kind: KubeSchedulerConfiguration`,
		}},
		{"beta version", "kind: KubeSchedulerConfiguration\napiVersion: kubescheduler.config.k8s.io/v1beta3\n", []string{
			`config.yaml:2:1: apiVersion: no kind "KubeSchedulerConfiguration" is registered for version "kubescheduler.config.k8s.io/v1beta3"; ` +
				`write apiVersion: kubescheduler.config.k8s.io/v1 (the beta versions were removed; most files load as v1 unchanged, ` +
				`except for plugins that are gone, such as SelectorSpread)`,
		}},
		{"alpha version", "kind: KubeSchedulerConfiguration\napiVersion: kubescheduler.config.k8s.io/v1alpha1\n", []string{
			`config.yaml:2:1: apiVersion: no kind "KubeSchedulerConfiguration" is registered for version "kubescheduler.config.k8s.io/v1alpha1"; ` +
				`write apiVersion: kubescheduler.config.k8s.io/v1 (the alpha versions were removed; ` +
				`a scheduler policy becomes profiles[].plugins and profiles[].pluginConfig)`,
		}},
		{"other group", "kind: Pod\napiVersion: v1\n", []string{
			`config.yaml:2:1: apiVersion: no kind "Pod" is registered for version "v1"; write apiVersion: kubescheduler.config.k8s.io/v1`,
		}},
		{"impossible version", "kind: Pod\napiVersion: a/b/c\n", []string{
			`config.yaml:2:1: apiVersion: unexpected GroupVersion string: a/b/c`,
		}},
		{"unknown kind", "kind: KubeSchedulerConfig\napiVersion: kubescheduler.config.k8s.io/v1\n", []string{
			`config.yaml:1:1: kind: no kind "KubeSchedulerConfig" is registered for version "kubescheduler.config.k8s.io/v1"; write kind: KubeSchedulerConfiguration`,
		}},
		{"args kind", "kind: NodeAffinityArgs\napiVersion: kubescheduler.config.k8s.io/v1\n", []string{
			`config.yaml:1:1: kind: couldn't decode as KubeSchedulerConfiguration, got kubescheduler.config.k8s.io/v1, Kind=NodeAffinityArgs: ` +
				`arguments belong in profiles[].pluginConfig[].args`,
		}},
		{"unknown fields", fileHeader + "bar: 1\nleaderElection: {foo: 1}\nprofiles:\n- plugnis: {}\n- schedulerName: b\n  baz: 1\n", []string{
			`config.yaml:3:1: bar: unknown field`,
			`config.yaml:4:18: leaderElection.foo: unknown field`,
			`config.yaml:6:3: profiles[0].plugnis: unknown field; did you mean "plugins"?`,
			`config.yaml:6:3: profiles[0].schedulerName: Required value`,
			`config.yaml:8:3: profiles[1].baz: unknown field`,
		}},
		{"letter case", fileHeader + "leaderelection: {}\n", []string{
			`config.yaml:3:1: leaderelection: unknown field; did you mean "leaderElection"?`,
		}},
		{"duplicate key", fileHeader + "leaderElection:\n  leaderElect: true\n  leaderElect: false\n", []string{
			`config.yaml:5:3: leaderElection.leaderElect: duplicate key: "leaderElect" is already set on line 4`,
		}},
		{"duplicate key in JSON", `{"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"KubeSchedulerConfiguration","parallelism":1,"parallelism":2}`, []string{
			`config.yaml:1:100: parallelism: duplicate key: "parallelism" is already set on line 1`,
		}},
		{"wrong types", fileHeader + "parallelism: many\nleaderElection: {leaseDuration: 15}\nprofiles:\n- plugins: {filter: [{name: a}]}\n", []string{
			`config.yaml:3:1: parallelism: wrong type: want an integer, found the string "many"`,
			`config.yaml:4:18: leaderElection.leaseDuration: wrong type: want a duration such as "15s" or "1m30s", found the number 15`,
			`config.yaml:6:13: profiles[0].plugins.filter: wrong type: want a mapping, found a list`,
		}},
		{"second document", fileHeader + "---\nkind: Pod\n", []string{
			`config.yaml:4:1: a second document: a scheduler configuration is a single document`,
		}},
		{"empty", "", []string{`config.yaml: the file is empty`}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Parse("config.yaml", []byte(test.text), Options{})
			if diff := cmp.Diff(test.want, lines(err)); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLoadMissingFile(t *testing.T) {
	_, err := Load("testdata/absent.yaml", Options{})
	if !os.IsNotExist(err) || err.Error() != "open testdata/absent.yaml: no such file or directory" {
		t.Errorf("Load = %v, want the error of the operating system", err)
	}
}

// settings are the top-level fields of a configuration.
type settings struct {
	Parallelism             int32
	LeaderElection          componentconfig.LeaderElectionConfiguration
	ClientConnection        componentconfig.ClientConnectionConfiguration
	Profiling, Contention   bool
	Percentage              int32
	InitialBackoff, Backoff time.Duration
	DelayCache              bool
	Profiles                []string
}

func settingsOf(c *Configuration) settings {
	var names []string
	for _, profile := range c.Profiles {
		names = append(names, profile.SchedulerName)
	}
	return settings{
		c.Parallelism, c.LeaderElection, c.ClientConnection, c.EnableProfiling, c.EnableContentionProfiling,
		c.PercentageOfNodesToScore, c.PodInitialBackoff(), c.PodMaxBackoff(), c.DelayCacheUntilActive, names,
	}
}

func defaultSettings() settings {
	seconds := func(n time.Duration) metav1.Duration { return metav1.Duration{Duration: n * time.Second} }
	return settings{
		Parallelism: 16,
		LeaderElection: componentconfig.LeaderElectionConfiguration{
			LeaderElect: true, LeaseDuration: seconds(15), RenewDeadline: seconds(10), RetryPeriod: seconds(2),
			ResourceLock: "leases", ResourceName: "kube-scheduler", ResourceNamespace: "kube-system",
		},
		ClientConnection: componentconfig.ClientConnectionConfiguration{
			ContentType: "application/vnd.kubernetes.protobuf", QPS: 50, Burst: 100,
		},
		Profiling: true, Contention: true, InitialBackoff: time.Second, Backoff: 10 * time.Second,
		Profiles: []string{"default-scheduler"},
	}
}

func TestDefaults(t *testing.T) {
	tests := []struct {
		name, text string
		change     func(*settings)
	}{
		{"empty file", "", func(*settings) {}},
		{"zero values that mean the default", "leaderElection: {leaseDuration: 0s, resourceLock: \"\"}\nclientConnection: {qps: 0, burst: 0}\nprofiles: []\n", func(*settings) {}},
		{"leader election", "leaderElection: {leaderElect: false, leaseDuration: 1m, resourceName: x, resourceNamespace: z}\n", func(s *settings) {
			s.LeaderElection.LeaderElect = false
			s.LeaderElection.LeaseDuration.Duration = time.Minute
			s.LeaderElection.ResourceName, s.LeaderElection.ResourceNamespace = "x", "z"
		}},
		{"client", "clientConnection: {kubeconfig: /x, acceptContentTypes: a, contentType: b, qps: -1, burst: 7}\n", func(s *settings) {
			s.ClientConnection = componentconfig.ClientConnectionConfiguration{
				Kubeconfig: "/x", AcceptContentTypes: "a", ContentType: "b", QPS: -1, Burst: 7,
			}
		}},
		{"no profiling", "enableProfiling: false\n", func(s *settings) { s.Profiling, s.Contention = false, false }},
		{"contention only", "enableProfiling: false\nenableContentionProfiling: true\n", func(s *settings) { s.Profiling = false }},
		{"no contention profiling", "enableContentionProfiling: false\n", func(s *settings) { s.Contention = false }},
		{"numbers", "parallelism: 3\npercentageOfNodesToScore: 40\npodInitialBackoffSeconds: 2\npodMaxBackoffSeconds: 20\ndelayCacheUntilActive: true\n", func(s *settings) {
			s.Parallelism, s.Percentage, s.InitialBackoff, s.Backoff, s.DelayCache = 3, 40, 2*time.Second, 20*time.Second, true
		}},
		{"one unnamed profile", "profiles:\n- percentageOfNodesToScore: 5\n", func(*settings) {}},
		{"two profiles", "profiles:\n- schedulerName: a\n- schedulerName: b\n", func(s *settings) { s.Profiles = []string{"a", "b"} }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			want := defaultSettings()
			test.change(&want)
			if diff := cmp.Diff(want, settingsOf(mustParse(t, test.text))); diff != "" {
				t.Errorf("settings (-want +got):\n%s", diff)
			}
		})
	}
	if diff := cmp.Diff(defaultSettings(), settingsOf(Default())); diff != "" {
		t.Errorf("Default() (-want +got):\n%s", diff)
	}
	if err := Default().Validate(); err != nil {
		t.Errorf("the default configuration is not valid: %v", err)
	}
}

func TestProfilePercentage(t *testing.T) {
	config := mustParse(t, "percentageOfNodesToScore: 40\nprofiles:\n- schedulerName: a\n- schedulerName: b\n  percentageOfNodesToScore: 0\n")
	if got := config.Profile("a").PercentageOfNodesToScore; got != nil {
		t.Errorf("percentage of a profile that sets none = %d, want nil", *got)
	}
	if got := config.Profile("b").PercentageOfNodesToScore; !cmp.Equal(got, ptr.To[int32](0)) {
		t.Errorf("percentage of a profile that sets 0 = %v, want 0", got)
	}
	if got := config.Profile("c"); got != nil {
		t.Errorf("Profile of an unknown name = %v", got)
	}
}

func TestOverrideRunsBeforeValidation(t *testing.T) {
	_, err := Parse("config.yaml", []byte(fileHeader+"parallelism: 2\n"), Options{
		Override: func(c *Configuration) { c.Parallelism = -1 },
	})
	want := []string{`config.yaml:3:1: parallelism: Invalid value: -1: should be an integer value greater than zero`}
	if diff := cmp.Diff(want, lines(err)); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
}

func TestKnownPlugins(t *testing.T) {
	text := fileHeader + `profiles:
- plugins:
    multiPoint: {enabled: [{name: NodeAfinity}]}
    score:
      enabled:
      - name: ImageLocality
      - name: Imagelocality
      disabled:
      - name: Nodename
      - name: "*"
  pluginConfig:
  - name: NodeResourceFit
`
	if _, err := Parse("config.yaml", []byte(text), Options{}); err != nil {
		t.Errorf("names are checked without KnownPlugins: %v", err)
	}
	_, err := Parse("config.yaml", []byte(text), Options{KnownPlugins: knownPlugins()})
	want := []string{
		`config.yaml:5:29: profiles[0].plugins.multiPoint.enabled[0].name: plugin "NodeAfinity" does not exist; did you mean "NodeAffinity"?`,
		`config.yaml:9:9: profiles[0].plugins.score.enabled[1].name: ScorePlugin "Imagelocality" does not exist; did you mean "ImageLocality"?`,
	}
	if diff := cmp.Diff(want, lines(err)); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
}

func TestWarnings(t *testing.T) {
	text := fileHeader + `profiles:
- plugins:
    score:
      disabled:
      - name: Nodename
      - name: "*"
  pluginConfig:
  - name: NodeResourceFit
`
	config, err := Parse("config.yaml", []byte(text), Options{KnownPlugins: knownPlugins()})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`config.yaml:7:9: profiles[0].plugins.score.disabled[0].name: plugin "Nodename" does not exist; disabling it has no effect; did you mean "NodeName"?`,
		`config.yaml:10:5: profiles[0].pluginConfig[0].name: plugin "NodeResourceFit" does not exist; configuring it has no effect; did you mean "NodeResourcesFit"?`,
	}
	if diff := cmp.Diff(want, lines(config.Warnings)); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}
