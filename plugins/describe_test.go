// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package plugins_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rouse-scheduler/rouse/plugins"
	"github.com/rouse-scheduler/rouse/profiles"
)

func TestDescribe(t *testing.T) {
	descriptions, err := plugins.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]plugins.Description{}
	defaults := len(profiles.DefaultPlugins())
	for _, description := range descriptions[defaults:] {
		if description.Gate == "" || description.EnabledByDefault || len(description.Points) == 0 {
			t.Errorf("a plugin whose gate is off is described as %+v", description)
		}
	}
	if len(descriptions) != defaults+4 {
		t.Errorf("there are %d descriptions, want 4 after the default profile", len(descriptions))
	}
	for i, description := range descriptions[:defaults] {
		if want := profiles.DefaultPlugins()[i].Name; description.Name != want {
			t.Errorf("description %d is of %s, want %s", i, description.Name, want)
		}
		if !description.EnabledByDefault {
			t.Errorf("%s is not enabled by default", description.Name)
		}
		byName[description.Name] = description
	}
	for _, want := range []plugins.Description{
		{
			Name: "NodeResourcesFit", EnabledByDefault: true, DefaultWeight: 1,
			Points: []profiles.ExtensionPoint{profiles.PreFilter, profiles.Filter, profiles.PreScore, profiles.Score, profiles.PlacementScore},
		},
		{
			Name: "TaintToleration", EnabledByDefault: true, DefaultWeight: 3,
			Points: []profiles.ExtensionPoint{profiles.PreFilter, profiles.Filter, profiles.PreScore, profiles.Score},
		},
		{
			Name: "VolumeBinding", EnabledByDefault: true, DefaultWeight: 1,
			Points: []profiles.ExtensionPoint{
				profiles.PreFilter, profiles.Filter, profiles.PreScore, profiles.Score, profiles.Reserve, profiles.PreBind,
			},
		},
		{
			Name: "DefaultBinder", EnabledByDefault: true,
			Points: []profiles.ExtensionPoint{profiles.Bind},
		},
	} {
		if diff := cmp.Diff(want, byName[want.Name]); diff != "" {
			t.Errorf("description of %s differs (-want +got):\n%s", want.Name, diff)
		}
	}
}
