// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package nodename

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

func TestFilter(t *testing.T) {
	otherNode := fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "node(s) didn't match the requested node name")
	tests := []struct {
		name       string
		pod        *v1.Pod
		node       string
		narrowed   sets.Set[string]
		wantOnNode *fwk.Status
	}{
		{"no host: PreFilter leaves all nodes", objects.Pod("p").Build(), "a", nil, nil},
		{"host matches: PreFilter narrows to it", objects.Pod("p").Node("a").Build(), "a", sets.New("a"), nil},
		{"host differs", objects.Pod("p").Node("a").Build(), "b", sets.New("a"), otherNode},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pl, state := &plugin{}, framework.NewCycleState()
			result, status := pl.PreFilter(t.Context(), state, tt.pod, nil)
			fixture.CheckStatus(t, status, nil)
			var narrowed sets.Set[string]
			if result != nil {
				narrowed = result.NodeNames
			}
			if diff := cmp.Diff(tt.narrowed, narrowed); diff != "" {
				t.Errorf("nodes after PreFilter differ (-want +got):\n%s", diff)
			}
			nodeInfo := fixture.NodeInfo(objects.Node(tt.node).Build())
			fixture.CheckStatus(t, pl.Filter(t.Context(), state, tt.pod, nodeInfo), tt.wantOnNode)
		})
	}
}

func TestSignPod(t *testing.T) {
	fixture.CheckSigned(t, &plugin{}, objects.Pod("p").Node("a").Build(), fwk.SignFragment{Key: fwk.NodeNameSignerName, Value: "a"})
}
