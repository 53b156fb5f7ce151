// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/inspect"
)

func TestEventWords(t *testing.T) {
	got := inspect.EventWords("AssignedPodDelete", "AssignedPodUpdatePodScaleDown", "TargetPodUpdatePodLabel", "TargetPodUpdate", "NodeAdd", "NodeUpdateNodeLabel",
		"resource.k8s.io/DeviceClassAdd", "resource.k8s.io/DeviceClassUpdate", "racks.v1.example.comDelete")
	want := []string{
		"a pod on a node ends or asks for less", "the pod itself changes", "a node is added or gets other labels", "a DeviceClass is created or changes",
		"a racks.v1.example.com is deleted",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("words differ (-want +got):\n%s", diff)
	}
}

// Every event that there is has words of its own, without names of Go in them.
func TestEveryEventHasWords(t *testing.T) {
	for _, row := range framework.Resources() {
		seen := map[string]string{}
		for _, action := range row.Actions {
			event := fwk.ClusterEvent{Resource: row.Name, ActionType: action.Bit}
			words := inspect.EventWords(event.Label())
			if len(words) != 1 || strings.Contains(words[0], "Update") {
				t.Errorf("%s is %q", event.Label(), words)
				continue
			}
			if other := seen[words[0]]; other != "" && !strings.HasSuffix(words[0], "changes") {
				t.Errorf("%s and %s are both %q", other, event.Label(), words[0])
			}
			seen[words[0]] = event.Label()
		}
	}
}
