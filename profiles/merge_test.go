// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package profiles

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	configv1 "k8s.io/kube-scheduler/config/v1"
	"k8s.io/utils/ptr"
)

func TestMergeEnabled(t *testing.T) {
	plugin := func(name string, weight int32) configv1.Plugin {
		if weight == 0 {
			return configv1.Plugin{Name: name}
		}
		return configv1.Plugin{Name: name, Weight: ptr.To(weight)}
	}
	list := func(plugins ...configv1.Plugin) []configv1.Plugin { return plugins }
	defaults := list(plugin("A", 0), plugin("B", 2), plugin("C", 3))
	tests := []struct {
		name              string
		enabled, disabled []configv1.Plugin
		want              []configv1.Plugin
	}{
		{"nothing", nil, nil, defaults},
		{"disabled", nil, list(plugin("B", 0)), list(plugin("A", 0), plugin("C", 3))},
		{"all disabled", nil, list(plugin("*", 0)), nil},
		{"only the user's", list(plugin("C", 1), plugin("X", 0)), list(plugin("*", 0)), list(plugin("C", 1), plugin("X", 0))},
		{"re-weighted in place", list(plugin("B", 7)), nil, list(plugin("A", 0), plugin("B", 7), plugin("C", 3))},
		{"weight reset", list(plugin("B", 0)), nil, list(plugin("A", 0), plugin("B", 0), plugin("C", 3))},
		{"moved to the end", list(plugin("A", 5)), list(plugin("A", 0)), list(plugin("B", 2), plugin("C", 3), plugin("A", 5))},
		{"added", list(plugin("Y", 0), plugin("X", 4)), nil, list(plugin("A", 0), plugin("B", 2), plugin("C", 3), plugin("Y", 0), plugin("X", 4))},
		{"disabling what is not there", nil, list(plugin("X", 0)), defaults},
		{
			"given twice: the last takes the place, the others stay", list(plugin("B", 5), plugin("B", 6)), nil,
			list(plugin("A", 0), plugin("B", 6), plugin("C", 3), plugin("B", 5)),
		},
		{"own plugin twice", list(plugin("X", 0), plugin("X", 1)), list(plugin("*", 0)), list(plugin("X", 0), plugin("X", 1))},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := mergeEnabled(defaults, configv1.PluginSet{Enabled: test.enabled, Disabled: test.disabled})
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("merged (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMergeKeepsDisabledAndOtherSets(t *testing.T) {
	user := configv1.Plugins{
		MultiPoint: configv1.PluginSet{Disabled: []configv1.Plugin{{Name: "NodeName", Weight: ptr.To[int32](3)}}},
		Score: configv1.PluginSet{
			Enabled:  []configv1.Plugin{{Name: "X"}, {Name: "X"}},
			Disabled: []configv1.Plugin{{Name: "*"}, {Name: "Y"}},
		},
	}
	got := mergeWithDefaults(user)
	if diff := cmp.Diff([]configv1.Plugin{{Name: "NodeName"}}, got.MultiPoint.Disabled); diff != "" {
		t.Errorf("disabled at MultiPoint (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(user.Score, got.Score); diff != "" {
		t.Errorf("score set (-want +got):\n%s", diff)
	}
	if user.MultiPoint.Disabled[0].Weight == nil {
		t.Error("the user's set was changed")
	}
}

func TestDefaultPlugins(t *testing.T) {
	type row struct {
		name   string
		weight int32
	}
	want := []row{
		{"SchedulingGates", 0}, {"PrioritySort", 0}, {"NodeName", 0}, {"NodeUnschedulable", 0}, {"TaintToleration", 3},
		{"NodeAffinity", 2}, {"NodePorts", 0}, {"NodeResourcesFit", 1}, {"VolumeRestrictions", 0}, {"NodeVolumeLimits", 0},
		{"VolumeBinding", 0}, {"VolumeZone", 0}, {"PodTopologySpread", 2}, {"InterPodAffinity", 2}, {"DynamicResources", 2},
		{"DefaultPreemption", 0}, {"NodeResourcesBalancedAllocation", 1}, {"ImageLocality", 1}, {"DefaultBinder", 0},
		{"NodeDeclaredFeatures", 0},
	}
	var got []row
	for _, plugin := range DefaultPlugins() {
		got = append(got, row{plugin.Name, ptr.Deref(plugin.Weight, 0)})
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(row{})); diff != "" {
		t.Errorf("DefaultPlugins (-want +got):\n%s", diff)
	}
	*DefaultPlugins()[4].Weight = 99
	if got := *DefaultPlugins()[4].Weight; got != 3 {
		t.Errorf("a change of the result shows in the next call: weight %d", got)
	}
}
