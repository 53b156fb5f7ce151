// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package profiles

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/rouse-scheduler/rouse/internal/manifest"
)

// withoutPositions removes "file:line:column: " from errors, after checking that it
// is there.
func withoutPositions(t *testing.T, err error) []string {
	t.Helper()
	if err == nil {
		return nil
	}
	list, ok := err.(manifest.ErrorList)
	if !ok {
		t.Fatalf("error is %T, want manifest.ErrorList: %v", err, err)
	}
	var texts []string
	for _, entry := range list {
		located, ok := entry.(*manifest.Error)
		if !ok || located.File == "" || located.Line == 0 || located.Column == 0 {
			t.Errorf("no position in error %v", entry)
			continue
		}
		texts = append(texts, located.Field+": "+located.Message)
	}
	return texts
}

func TestValidateTopLevel(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string
	}{
		{"burst", "clientConnection: {burst: -1}\n", []string{`clientConnection.burst: Invalid value: -1: must be non-negative`}},
		{"lease times", "leaderElection: {leaseDuration: -1s, renewDeadline: -2s, retryPeriod: -3s}\n", []string{
			`leaderElection.leaseDuration: Invalid value: "-1s": must be greater than zero`,
			`leaderElection.renewDeadline: Invalid value: "-2s": must be greater than zero`,
			`leaderElection.retryPeriod: Invalid value: "-3s": must be greater than zero`,
		}},
		{"lease too short", "leaderElection: {leaseDuration: 10s}\n", []string{
			"leaderElection.leaseDuration: Invalid value: \"10s\": must be greater than `RenewDeadline`",
		}},
		{"lock", "leaderElection: {resourceLock: endpoints}\n", []string{
			`leaderElection.resourceLock: Invalid value: "endpoints": resourceLock value must be "leases"`,
		}},
		{"no leader election", "leaderElection: {leaderElect: false, resourceLock: endpoints, leaseDuration: -1s}\n", nil},
		{"parallelism", "parallelism: 0\n", []string{`parallelism: Invalid value: 0: should be an integer value greater than zero`}},
		{"percentage", "percentageOfNodesToScore: 101\nprofiles: [{percentageOfNodesToScore: -1}]\n", []string{
			`percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]`,
			`profiles[0].percentageOfNodesToScore: Invalid value: -1: not in valid range [0-100]`,
		}},
		{"percentage at the bounds", "percentageOfNodesToScore: 100\nprofiles: [{percentageOfNodesToScore: 0}]\n", nil},
		{"initial backoff", "podInitialBackoffSeconds: 0\n", []string{`podInitialBackoffSeconds: Invalid value: 0: must be greater than 0`}},
		{"max backoff", "podMaxBackoffSeconds: 3\npodInitialBackoffSeconds: 4\n", []string{
			`podMaxBackoffSeconds: Invalid value: 3: must be greater than or equal to PodInitialBackoffSeconds`,
		}},
		{"everything at once", "parallelism: -1\npercentageOfNodesToScore: -1\nextenders: [{prioritizeVerb: p}]\n", []string{
			`parallelism: Invalid value: -1: should be an integer value greater than zero`,
			`percentageOfNodesToScore: Invalid value: -1: not in valid range [0-100]`,
			`extenders[0].weight: Invalid value: 0: must have a positive weight applied to it`,
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := parse(t, test.text)
			if diff := cmp.Diff(test.want, withoutPositions(t, err)); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

func TestValidateProfiles(t *testing.T) {
	removed := func(plugin string) string {
		return `Invalid value: "` + plugin + `": was invalid in version "v1" (KubeSchedulerConfiguration is version "kubescheduler.config.k8s.io/v1"); use NodeVolumeLimits instead`
	}
	tests := []struct {
		name, profiles string
		want           []string
	}{
		{"no name", "[{schedulerName: a}, {}]", []string{`profiles[1].schedulerName: Required value`}},
		{"empty name", `[{schedulerName: ""}]`, []string{`profiles[0].schedulerName: Required value`}},
		{"same name", "[{schedulerName: a}, {schedulerName: a}]", []string{`profiles[1].schedulerName: Duplicate value: "a"`}},
		{
			"different queue sort",
			`[{schedulerName: a}, {schedulerName: b}, {schedulerName: c, plugins: {queueSort: {enabled: [{name: Foo}], disabled: [{name: "*"}]}}}]`,
			[]string{`profiles[2].plugins.queueSort: Invalid value: {"enabled":[{"name":"Foo"}],"disabled":[{"name":"*"}]}: must be the same for all profiles`},
		},
		{
			"two queue sorts", "[{plugins: {queueSort: {enabled: [{name: A}, {name: B}]}}}]",
			[]string{`profiles[0].plugins.queueSort.enabled: Invalid value: 2: only one queue sort plugin can be enabled`},
		},
		{
			"same queue sort, different args",
			"[{schedulerName: a, plugins: &p {queueSort: {enabled: [{name: A}]}}, pluginConfig: [{name: A, args: {x: 1}}]}, {schedulerName: b, plugins: *p, pluginConfig: [{name: A, args: {x: 2}}]}]",
			[]string{`profiles[1].pluginConfig.args: Invalid value: "{\"x\":2}": queueSort must be the same for all profiles`},
		},
		{
			"no queue sort, different args for no plugin",
			"[{schedulerName: a}, {schedulerName: b, pluginConfig: [{args: {x: 2}}]}]",
			[]string{`profiles[1].pluginConfig.args: Invalid value: "{\"x\":2}": queueSort must be the same for all profiles`},
		},
		{
			"same queue sort, same args",
			"[{schedulerName: a, plugins: &p {queueSort: {enabled: [{name: A}]}}, pluginConfig: &c [{name: A, args: {x: 1}}]}, {schedulerName: b, plugins: *p, pluginConfig: *c}]",
			nil,
		},
		{
			"removed plugins", "[{plugins: {filter: {enabled: [{name: NodeName}, {name: EBSLimits}]}, multiPoint: {enabled: [{name: CinderLimits}]}}, " +
				"pluginConfig: [{name: AzureDiskLimits}, {name: GCEPDLimits}]}]",
			[]string{
				"profiles[0].plugins.filter.enabled[1]: " + removed("EBSLimits"),
				"profiles[0].plugins.multiPoint.enabled[0]: " + removed("CinderLimits"),
				"profiles[0].pluginConfig[0]: " + removed("AzureDiskLimits"),
				"profiles[0].pluginConfig[1]: " + removed("GCEPDLimits"),
			},
		},
		{"removed plugin disabled", "[{plugins: {filter: {disabled: [{name: EBSLimits}]}}}]", nil},
		{
			"configured twice", "[{pluginConfig: [{name: NodeAffinity}, {name: Foo}, {name: NodeAffinity}, {name: Foo}]}]",
			[]string{`profiles[0].pluginConfig[2]: Duplicate value: "NodeAffinity"`, `profiles[0].pluginConfig[3]: Duplicate value: "Foo"`},
		},
		{"negative weight", "[{plugins: {score: {enabled: [{name: NodeAffinity, weight: -5}]}}}]", nil},
		{"unknown plugins", "[{plugins: {score: {enabled: [{name: Absent}], disabled: [{name: Absent2}]}}, pluginConfig: [{name: Absent3}]}]", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := parse(t, "profiles: "+test.profiles+"\n")
			if diff := cmp.Diff(test.want, withoutPositions(t, err)); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

func TestValidateInGo(t *testing.T) {
	config := Default()
	config.Profiles = nil
	config.Parallelism = 0
	want := []string{
		`parallelism: Invalid value: 0: should be an integer value greater than zero`,
		`profiles: Required value`,
	}
	if diff := cmp.Diff(want, lines(config.Validate())); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}

	var none *configv1.NodeAffinityArgs
	for _, args := range []apiruntime.Object{nil, none, &configv1.InterPodAffinityArgs{}, &apiruntime.Unknown{}} {
		config := Default()
		config.Profiles[0].PluginConfig[3].Args = args
		err := config.Validate()
		if err == nil || !strings.Contains(err.Error(), "profiles[0].pluginConfig[3].args: Invalid value") || !strings.Contains(err.Error(), "has to match plugin args") {
			t.Errorf("Validate with %T as args of NodeAffinity = %v", args, err)
		}
	}
}

func TestValidateExtenders(t *testing.T) {
	tests := []struct {
		name, extenders string
		want            []string
	}{
		{"fine", "[{urlPrefix: http://x, filterVerb: f, prioritizeVerb: p, weight: 1, bindVerb: b, managedResources: [{name: a.b/c}]}, {urlPrefix: z}]", nil},
		{"no weight", "[{urlPrefix: x}, {urlPrefix: z, prioritizeVerb: p}]", []string{
			`extenders[1].weight: Invalid value: 0: must have a positive weight applied to it`,
		}},
		{"weight is not looked at without a verb", "[{urlPrefix: x, weight: -1}]", nil},
		{"two binders", "[{urlPrefix: x, bindVerb: b}, {urlPrefix: z, bindVerb: b}]", []string{
			`extenders: Invalid value: "found 2 extenders implementing bind": only one extender can implement bind`,
		}},
		{"resource of Kubernetes", "[{urlPrefix: x, managedResources: [{name: cpu}, {name: kubernetes.io/x}]}]", []string{
			`extenders[0].managedResources[0].name: Invalid value: "cpu": is an invalid extended resource name`,
			`extenders[0].managedResources[1].name: Invalid value: "kubernetes.io/x": is an invalid extended resource name`,
		}},
		{"managed twice", "[{urlPrefix: x, managedResources: [{name: a.b/c}]}, {urlPrefix: z, managedResources: [{name: a.b/d}, {name: a.b/c}]}]", []string{
			`extenders[1].managedResources[1].name: Invalid value: "a.b/c": duplicate extender managed resource name`,
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := parse(t, "extenders: "+test.extenders+"\n")
			if diff := cmp.Diff(test.want, withoutPositions(t, err)); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
	_, err := parse(t, "extenders: [{urlPrefix: x, managedResources: [{name: a b}]}]\n")
	if err == nil || !strings.Contains(err.Error(), `extenders[0].managedResources[0].name: Invalid value: "a b": name part must consist of`) {
		t.Errorf("a name with a blank: %v", err)
	}
}

func TestApplyExtenders(t *testing.T) {
	config := mustParse(t, `
profiles:
- schedulerName: a
  pluginConfig: [{name: NodeResourcesFit, args: {ignoredResources: [old.example/x]}}]
- schedulerName: b
extenders:
- {urlPrefix: one, ignorable: true, managedResources: [{name: ex.io/a, ignoredByScheduler: true}]}
- {urlPrefix: two, httpTimeout: 1s}
- {urlPrefix: three, ignorable: true, managedResources: [{name: ex.io/b}, {name: ex.io/c, ignoredByScheduler: true}]}
`)
	extenders, err := config.ApplyExtenders()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, extender := range extenders {
		got = append(got, extender.URLPrefix+" "+extender.HTTPTimeout.Duration.String())
	}
	if diff := cmp.Diff([]string{"two 1s", "one 5s", "three 5s"}, got); diff != "" {
		t.Errorf("extenders (-want +got):\n%s", diff)
	}
	for _, name := range []string{"a", "b"} {
		args := config.Profile(name).Args("NodeResourcesFit").(*configv1.NodeResourcesFitArgs)
		if diff := cmp.Diff([]string{"ex.io/a", "ex.io/c"}, args.IgnoredResources); diff != "" {
			t.Errorf("ignored resources of profile %s (-want +got):\n%s", name, diff)
		}
	}
	if config.Extenders[1].URLPrefix != "two" || config.Extenders[0].HTTPTimeout.Duration != 0 {
		t.Error("ApplyExtenders changed Configuration.Extenders")
	}
}

func TestApplyExtendersErrors(t *testing.T) {
	config := mustParse(t, `
profiles:
- plugins: {multiPoint: {disabled: [{name: NodeResourcesFit}]}}
extenders:
- {urlPrefix: one, managedResources: [{name: ex.io/a, ignoredByScheduler: true}]}
`)
	_, err := config.ApplyExtenders()
	want := `profile "default-scheduler": couldn't build extenders: can't find NodeResourcesFitArgs in plugin config`
	if err == nil || err.Error() != want {
		t.Errorf("ApplyExtenders = %v, want %s", err, want)
	}
	config.Extenders[0].ManagedResources[0].IgnoredByScheduler = false
	if _, err := config.ApplyExtenders(); err != nil {
		t.Errorf("ApplyExtenders without ignored resources: %v", err)
	}
}
