// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package nodefit_test

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"

	"example.com/whatif/nodefit"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/whatif"
)

func TestEvictable(t *testing.T) {
	pods := []*v1.Pod{
		objects.Pod("pinned").Requests("cpu", "100m").NodeSelector("disk", "ssd").Node("full").Build(),
		objects.Pod("first").Requests("cpu", "1").Node("full").Build(),
		objects.Pod("second").Requests("cpu", "1").Node("full").Build(),
		objects.Pod("small").Requests("cpu", "500m").Node("full").Build(),
	}
	all := []apiruntime.Object{
		objects.Node("full").Capacity("cpu", "4").Label("disk", "ssd").Build(),
		objects.Node("other").Capacity("cpu", "1500m").Build(),
	}
	for _, pod := range pods {
		all = append(all, pod)
	}
	cluster, err := whatif.New(t.Context(), whatif.Options{Objects: all})
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	evictable, err := nodefit.Evictable(t.Context(), cluster, pods)
	if err != nil {
		t.Fatal(err)
	}
	// The other node has room for one of the larger pods, and then for the small one.
	if len(evictable) != 2 || evictable[0].Name != "first" || evictable[1].Name != "small" {
		t.Errorf("got %v, want first and small", evictable)
	}
}
