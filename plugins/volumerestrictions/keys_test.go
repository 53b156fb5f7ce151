// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package volumerestrictions

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// Disks and the use of claims make a difference to verdicts, and so to keys; so do names of claims that a nominated pod may use.
func TestKeysTellPodsApart(t *testing.T) {
	once := func(name string) *v1.PersistentVolumeClaim {
		return objects.PersistentVolumeClaim(name).AccessModes(v1.ReadWriteOncePod).Build()
	}
	users := fixture.NodeInfo(objects.Node("other").Build(), claiming("used"))
	pl := newPlugin(t, []*framework.NodeInfo{users},
		once("used"), once("free"), once("free-too"), objects.PersistentVolumeClaim("shared").Build())
	both := func(disk *v1.Pod, claims ...string) *v1.Pod {
		return objects.PodFrom(disk).PersistentVolumeClaim(claims...).Build()
	}
	seen := map[string]string{}
	for name, pod := range map[string]*v1.Pod{
		"a disk":                        gce("a", false),
		"a disk to read":                gce("a", true),
		"another disk":                  gce("b", false),
		"a disk of another kind":        ebs("a", false),
		"a claim that is used":          claiming("used"),
		"a disk and a used claim":       both(gce("a", false), "used"),
		"a disk and a free claim":       both(gce("a", false), "free"),
		"a disk and another free claim": both(gce("a", false), "free-too"),
	} {
		state := framework.NewCycleState()
		if _, status := pl.PreFilter(t.Context(), state, pod, nil); !status.IsSuccess() {
			t.Fatal(status)
		}
		key, ok := pl.AppendFilterKey(nil, state, pod)
		if other, taken := seen[string(key)]; taken || !ok {
			t.Errorf("%q and %q have the same key, or none", name, other)
		}
		seen[string(key)] = name
	}
	state := framework.NewCycleState()
	pl.PreFilter(t.Context(), state, both(gce("a", false), "shared"), nil)
	key, _ := pl.AppendFilterKey(nil, state, both(gce("a", false), "shared"))
	if seen[string(key)] != "a disk" {
		t.Errorf("a claim for several pods makes a difference")
	}
}
