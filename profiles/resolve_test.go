// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package profiles

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	configv1 "k8s.io/kube-scheduler/config/v1"
)

const allFilters = "NodeName NodeUnschedulable TaintToleration NodeAffinity NodePorts NodeResourcesFit VolumeRestrictions " +
	"NodeVolumeLimits VolumeBinding VolumeZone PodTopologySpread InterPodAffinity DynamicResources NodeDeclaredFeatures"

const defaultScores = "TaintToleration(3) NodeAffinity(2) NodeResourcesFit(1) VolumeBinding(1) PodTopologySpread(2) " +
	"InterPodAffinity(2) DynamicResources(2) NodeResourcesBalancedAllocation(1) ImageLocality(1)"

// names writes plugins as "A B(2)".
func names(plugins []ResolvedPlugin) string {
	var texts []string
	for _, plugin := range plugins {
		text := plugin.Name
		if plugin.Weight != 0 {
			text = fmt.Sprintf("%s(%d)", plugin.Name, plugin.Weight)
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, " ")
}

func resolveFirst(t *testing.T, text string) *Resolved {
	t.Helper()
	resolved, err := mustParse(t, text).Profiles[0].Resolve(implementsInTree, isInTree)
	if err != nil {
		t.Fatalf("Resolve: %v", err)
	}
	return resolved
}

func TestResolveDefault(t *testing.T) {
	resolved, err := DefaultProfile("x").Resolve(implementsInTree, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := map[ExtensionPoint]string{
		PreEnqueue:         "SchedulingGates DynamicResources DefaultPreemption",
		QueueSort:          "PrioritySort",
		PreFilter:          allFilters,
		Filter:             allFilters,
		PostFilter:         "DynamicResources DefaultPreemption",
		PodGroupPostFilter: "DynamicResources DefaultPreemption",
		PreScore:           "TaintToleration NodeAffinity NodeResourcesFit VolumeBinding PodTopologySpread InterPodAffinity NodeResourcesBalancedAllocation",
		Score:              defaultScores,
		Reserve:            "VolumeBinding DynamicResources",
		PreBind:            "VolumeBinding DynamicResources",
		Bind:               "DefaultBinder",
		PlacementScore:     "NodeResourcesFit(1)",
	}
	got := make(map[ExtensionPoint]string)
	for point, plugins := range resolved.Points {
		got[point] = names(plugins)
		for _, plugin := range plugins {
			if plugin.From != FromDefault {
				t.Errorf("%s at %s comes from %q, want %q", plugin.Name, point, plugin.From, FromDefault)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("default plugins (-want +got):\n%s", diff)
	}
	if resolved.SchedulerName != "x" {
		t.Errorf("SchedulerName = %q", resolved.SchedulerName)
	}
}

func TestResolve(t *testing.T) {
	tests := []struct {
		name, plugins string
		want          map[ExtensionPoint]string
	}{
		{
			name:    "moved to the end, re-weighted in place, weight reset",
			plugins: "{multiPoint: {enabled: [{name: ImageLocality}, {name: NodeAffinity, weight: 7}, {name: TaintToleration}], disabled: [{name: TaintToleration}]}}",
			want: map[ExtensionPoint]string{
				Score: "NodeAffinity(7) NodeResourcesFit(1) VolumeBinding(1) PodTopologySpread(2) InterPodAffinity(2) DynamicResources(2) " +
					"NodeResourcesBalancedAllocation(1) ImageLocality(1) TaintToleration(1)",
			},
		},
		{
			name: "only four plugins",
			plugins: `{multiPoint: {enabled: [{name: NodeAffinity, weight: 7}, {name: NodeName}, {name: DefaultBinder}, {name: PrioritySort}], disabled: [{name: "*"}]},` +
				`score: {enabled: [{name: ImageLocality}], disabled: [{name: TaintToleration}]}}`,
			want: map[ExtensionPoint]string{
				Score: "NodeAffinity(7) ImageLocality(1)", Filter: "NodeAffinity NodeName", PreEnqueue: "", Bind: "DefaultBinder",
			},
		},
		{
			name:    "score weight at the point moves to the front",
			plugins: "{score: {enabled: [{name: NodeAffinity, weight: 10}]}}",
			want: map[ExtensionPoint]string{
				Score: "NodeAffinity(10) TaintToleration(3) NodeResourcesFit(1) VolumeBinding(1) PodTopologySpread(2) InterPodAffinity(2) " +
					"DynamicResources(2) NodeResourcesBalancedAllocation(1) ImageLocality(1)",
				Filter: allFilters,
			},
		},
		{
			name:    "everything else disabled at a point",
			plugins: `{score: {disabled: [{name: "*"}], enabled: [{name: NodeResourcesFit, weight: 5}]}}`,
			want: map[ExtensionPoint]string{
				Score:    "NodeResourcesFit(5)",
				PreScore: "TaintToleration NodeAffinity NodeResourcesFit VolumeBinding PodTopologySpread InterPodAffinity NodeResourcesBalancedAllocation",
			},
		},
		{
			name:    "other plugin at a point",
			plugins: "{filter: {enabled: [{name: Foo}]}}",
			want:    map[ExtensionPoint]string{Filter: allFilters + " Foo", Bind: "DefaultBinder"},
		},
		{
			name:    "other plugin at MultiPoint",
			plugins: "{multiPoint: {enabled: [{name: Foo}]}}",
			want:    map[ExtensionPoint]string{Filter: allFilters + " Foo", Bind: "DefaultBinder Foo"},
		},
		{
			name:    "disabled by name at a point",
			plugins: "{score: {disabled: [{name: TaintToleration}, {name: ImageLocality}, {name: Absent}]}}",
			want: map[ExtensionPoint]string{
				Score:  "NodeAffinity(2) NodeResourcesFit(1) VolumeBinding(1) PodTopologySpread(2) InterPodAffinity(2) DynamicResources(2) NodeResourcesBalancedAllocation(1)",
				Filter: allFilters,
			},
		},
		{
			name:    "enabled and disabled at a point goes to the end",
			plugins: "{score: {enabled: [{name: TaintToleration, weight: 4}], disabled: [{name: TaintToleration}]}}",
			want: map[ExtensionPoint]string{
				Score: "NodeAffinity(2) NodeResourcesFit(1) VolumeBinding(1) PodTopologySpread(2) InterPodAffinity(2) DynamicResources(2) " +
					"NodeResourcesBalancedAllocation(1) ImageLocality(1) TaintToleration(4)",
			},
		},
		{
			name:    "queue sort at the point, default disabled at MultiPoint",
			plugins: "{multiPoint: {disabled: [{name: PrioritySort}]}, queueSort: {enabled: [{name: Bar}]}}",
			want:    map[ExtensionPoint]string{QueueSort: "Bar", Permit: ""},
		},
		{
			name:    "negative and huge weights pass",
			plugins: `{score: {disabled: [{name: "*"}], enabled: [{name: ImageLocality, weight: 2147483647}, {name: NodeAffinity, weight: -5}]}}`,
			want:    map[ExtensionPoint]string{Score: "ImageLocality(2147483647) NodeAffinity(-5)"},
		},
		{
			name:    "plugin without extension points",
			plugins: "{multiPoint: {enabled: [{name: Nothing}]}}",
			want:    map[ExtensionPoint]string{Filter: allFilters},
		},
		{
			name:    "placement scores have weights",
			plugins: "{multiPoint: {enabled: [{name: GangScheduling}, {name: TopologyPlacementGenerator}, {name: PodGroupPodsCount}]}, placementScore: {enabled: [{name: NodeResourcesFit, weight: 3}]}}",
			want: map[ExtensionPoint]string{
				PlacementScore: "NodeResourcesFit(3) PodGroupPodsCount(1)", PlacementGenerate: "TopologyPlacementGenerator",
				Permit: "GangScheduling", Score: defaultScores,
			},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			resolved := resolveFirst(t, "profiles:\n- plugins: "+test.plugins+"\n")
			got := make(map[ExtensionPoint]string)
			for point := range test.want {
				got[point] = names(resolved.Points[point])
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("plugins (-want +got):\n%s", diff)
			}
		})
	}
}

func TestResolveOrigin(t *testing.T) {
	resolved := resolveFirst(t, `
profiles:
- plugins:
    multiPoint:
      enabled: [{name: NodeAffinity, weight: 7}, {name: Foo}, {name: ImageLocality}, {name: TaintToleration, weight: 3}]
      disabled: [{name: TaintToleration}]
    score:
      enabled: [{name: NodeResourcesFit, weight: 1}]
`)
	got := make(map[string]Origin)
	for _, point := range []ExtensionPoint{Score, Bind} {
		for _, plugin := range resolved.Points[point] {
			got[plugin.Name] = plugin.From
		}
	}
	want := map[string]Origin{
		"NodeResourcesFit": FromNamed, "NodeAffinity": FromMultiPoint, "Foo": FromMultiPoint, "TaintToleration": FromMultiPoint,
		"ImageLocality": FromDefault, // listed again with the weight that it has anyway
		"VolumeBinding": FromDefault, "PodTopologySpread": FromDefault, "InterPodAffinity": FromDefault, "DynamicResources": FromDefault,
		"NodeResourcesBalancedAllocation": FromDefault, "DefaultBinder": FromDefault,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("origins (-want +got):\n%s", diff)
	}
}

func TestResolveErrors(t *testing.T) {
	tests := []struct {
		name, plugins string
		want          []string
	}{
		{"unknown at a point", "{filter: {enabled: [{name: Absent}]}}", []string{`FilterPlugin "Absent" does not exist`}},
		{"unknown at MultiPoint", "{multiPoint: {enabled: [{name: Absent}]}}", []string{`PreFilterPlugin "Absent" does not exist`}},
		{
			"unknown at MultiPoint without PreFilter", `{multiPoint: {enabled: [{name: Absent}]}, preFilter: {disabled: [{name: "*"}]}}`,
			[]string{`FilterPlugin "Absent" does not exist`},
		},
		{"lacks the point", "{score: {enabled: [{name: NodePorts}]}}", []string{`plugin "NodePorts" does not extend ScorePlugin plugin`}},
		{
			"twice at a point", "{score: {enabled: [{name: ImageLocality}, {name: ImageLocality}]}}",
			[]string{`plugin "ImageLocality" already registered as "ScorePlugin"`},
		},
		{
			"twice at MultiPoint", "{multiPoint: {enabled: [{name: ImageLocality}, {name: ImageLocality}]}}",
			[]string{`plugin "ImageLocality" already registered as "ScorePlugin"`},
		},
		{
			"no queue sort and no bind", "{multiPoint: {disabled: [{name: PrioritySort}, {name: DefaultBinder}]}}",
			[]string{
				`only one queue sort plugin required for profile with scheduler name "default-scheduler", but got 0`,
				`at least one bind plugin is needed for profile with scheduler name "default-scheduler"`,
			},
		},
		{
			"two queue sorts", "{multiPoint: {enabled: [{name: Bar}]}}",
			[]string{`only one queue sort plugin required for profile with scheduler name "default-scheduler", but got 2`},
		},
		{
			"two placement generators", "{multiPoint: {enabled: [{name: TopologyPlacementGenerator}, {name: OtherPlacementGenerator}]}}",
			[]string{`at most one placement generate plugin is allowed for profile with scheduler name "default-scheduler"`},
		},
		{
			"everything at once",
			"{multiPoint: {enabled: [{name: Absent}]}, bind: {enabled: [{name: Absent}, {name: NodeName}]}, score: {enabled: [{name: ImageLocality}, {name: ImageLocality}]}}",
			[]string{
				`PreFilterPlugin "Absent" does not exist`,
				`plugin "ImageLocality" already registered as "ScorePlugin"`,
				`BindPlugin "Absent" does not exist`,
				`plugin "NodeName" does not extend BindPlugin plugin`,
			},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			config := mustParse(t, "profiles:\n- plugins: "+test.plugins+"\n")
			_, err := config.Profiles[0].Resolve(implementsInTree, isInTree)
			var want []string
			for _, text := range test.want {
				want = append(want, `profile "default-scheduler": `+text)
			}
			if diff := cmp.Diff(want, lines(err)); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
			var resolveError *ResolveError
			if !errors.As(err, &resolveError) || resolveError.Profile != "default-scheduler" {
				t.Errorf("errors.As found %+v", resolveError)
			}
		})
	}
}

func TestResolveRepeatedConfig(t *testing.T) {
	profile := DefaultProfile("x")
	profile.PluginConfig = append(profile.PluginConfig, PluginConfig{Name: "NodeAffinity"})
	_, err := profile.Resolve(implementsInTree, isInTree)
	want := []string{`profile "x": repeated config for plugin NodeAffinity`}
	if diff := cmp.Diff(want, lines(err)); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
}

func TestResolveConfiguration(t *testing.T) {
	config := mustParse(t, `
profiles:
- schedulerName: a
- schedulerName: b
  plugins:
    multiPoint:
      disabled: [{name: PrioritySort}]
      enabled: [{name: Bar}]
- schedulerName: c
  plugins:
    filter:
      enabled:
      - name: Foo
      - name: Absent
      - name: Foo
`)
	_, err := config.Resolve(implementsInTree, isInTree)
	want := []string{
		`config.yaml:7:3: profiles[1].plugins.queueSort: profile "b": different queue sort plugins for profile "b": "Bar", first: "PrioritySort"`,
		`config.yaml:16:9: profiles[2].plugins.filter.enabled[1]: profile "c": FilterPlugin "Absent" does not exist`,
		`config.yaml:17:9: profiles[2].plugins.filter.enabled[2]: profile "c": plugin "Foo" already registered as "FilterPlugin"`,
	}
	if diff := cmp.Diff(want, lines(err)); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
	resolved, err := Default().Resolve(implementsInTree, isInTree)
	if err != nil || len(resolved) != 1 || resolved[0].SchedulerName != DefaultSchedulerName {
		t.Errorf("Default().Resolve = %v, %v", resolved, err)
	}
}

func TestResolveDifferentQueueSortArgs(t *testing.T) {
	config := mustParse(t, `
profiles:
- schedulerName: a
  plugins: &p {multiPoint: {disabled: [{name: PrioritySort}], enabled: [{name: Bar}]}}
  pluginConfig: [{name: Bar, args: {x: 1}}]
- schedulerName: b
  plugins: *p
  pluginConfig: [{name: Bar, args: {x: 2}}]
`)
	_, err := config.Resolve(implementsInTree, isInTree)
	if err == nil || !strings.Contains(err.Error(), `different queue sort plugin args for profile "b"`) {
		t.Errorf("Resolve = %v, want an error about queue sort args", err)
	}
}

func TestTotalFits(t *testing.T) {
	tests := []struct {
		weights []int64
		want    bool
	}{
		{nil, true},
		{[]int64{1, 2, 3}, true},
		{[]int64{5, -6}, true},
		{[]int64{-5, 6}, false},
		{[]int64{math.MaxInt64/100 - 1, 1}, true},
		{[]int64{math.MaxInt64 / 100, 1}, false},
		{[]int64{math.MaxInt64}, false},
	}
	for _, test := range tests {
		if got := totalFits(test.weights); got != test.want {
			t.Errorf("totalFits(%v) = %t, want %t", test.weights, got, test.want)
		}
	}
}

func TestExtensionPoints(t *testing.T) {
	points := AllExtensionPoints()
	if len(points) != 15 || len(resolveOrder()) != len(points) {
		t.Fatalf("%d extension points, %d in the order of resolving", len(points), len(resolveOrder()))
	}
	seen := make(map[*configv1.PluginSet]bool)
	var plugins configv1.Plugins
	for _, point := range allSets() {
		seen[setAt(&plugins, point)] = true
	}
	if len(seen) != 16 || seen[nil] {
		t.Errorf("plugin sets of the points are not distinct")
	}
	if got := PodGroupPostFilter.Interface(); got != "PodGroupPostFilterPlugin" {
		t.Errorf("Interface = %q", got)
	}
	if got := ExtensionPoint("").Interface(); got != "" {
		t.Errorf("Interface of no point = %q", got)
	}
}
