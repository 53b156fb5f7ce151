// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package notbuilt_test

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugins/notbuilt"
)

// gate is what stand-ins with needs implement.
type gate interface {
	fwk.PreFilterPlugin
	fwk.FilterPlugin
}

// checkNeed runs PreFilter and Filter. An empty reason means that the pod passes and is skipped.
func checkNeed(t *testing.T, plugin fwk.Plugin, pod *v1.Pod, wantReason string) {
	t.Helper()
	var rejected *fwk.Status
	if wantReason != "" {
		reason := fmt.Sprintf("pod %s, which needs plugin %s; this version of Rouse does not have it yet", wantReason, plugin.Name())
		rejected = fwk.NewStatus(fwk.UnschedulableAndUnresolvable, reason)
	}
	wantPreFilter := rejected
	if rejected == nil {
		wantPreFilter = fwk.NewStatus(fwk.Skip)
	}
	standIn := plugin.(gate)
	result, status := standIn.PreFilter(t.Context(), framework.NewCycleState(), pod, nil)
	if result != nil || standIn.PreFilterExtensions() != nil {
		t.Errorf("got PreFilter result %v and extensions %v, want neither", result, standIn.PreFilterExtensions())
	}
	fixture.CheckStatus(t, status, wantPreFilter)
	fixture.CheckStatus(t, standIn.Filter(t.Context(), framework.NewCycleState(), pod, fixture.NodeInfo(fixture.Node("n"))), rejected)
}

func build(t *testing.T, plugin fwk.Plugin, err error) fwk.Plugin {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return plugin
}

func TestDynamicResourcesNeeds(t *testing.T) {
	dra := &fixture.DeviceClasses{Serving: map[v1.ResourceName]string{"example.com/gpu": "gpus", "example.com/nic": "nics"}}
	withClaim := fixture.Pod("p", func(pod *v1.Pod) { pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "gpu"}} })
	tests := []struct {
		name string
		dra  fwk.SharedDRAManager
		pod  *v1.Pod
		want string
	}{
		{"nothing", dra, fixture.Pod("p", fixture.Container("cpu", "1")), ""},
		{"resource claim", nil, withClaim, `uses resource claim "gpu" (spec.resourceClaims[0])`},
		{"extended resource without classes", nil, fixture.Pod("p", fixture.Container("example.com/gpu", "1")), ""},
		{"extended resource served by devices", dra, fixture.Pod("p", fixture.Container("example.com/nic", "1", "example.com/gpu", "1")),
			"requests example.com/gpu, which a DeviceClass serves (spec.containers)"},
		{"none of an extended resource", dra, fixture.Pod("p", fixture.Container("example.com/gpu", "0")), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			plugin, err := notbuilt.NewDynamicResources(t.Context(), nil, &fixture.Handle{DRA: tt.dra})
			checkNeed(t, build(t, plugin, err), tt.pod, tt.want)
		})
	}
}
