// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package noderesources_test

import (
	"encoding/json"
	"testing"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugins/internal/noderesources"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

func TestSign(t *testing.T) {
	classes := noderesources.NewDeviceClasses(&fixture.Handle{DRA: &fixture.DeviceClasses{
		Serving: map[v1.ResourceName]string{"example.com/gpu": "gpus"},
	}})
	refused := fwk.NewStatus(fwk.Unschedulable, "signature disabled when dra extended resources are used in the cluster")
	tests := []struct {
		name    string
		pod     *v1.Pod
		classes noderesources.DeviceClasses
		want    string
		status  *fwk.Status
	}{
		{
			name: "no requests", pod: objects.Pod("p").Container("a").Build(),
			want: `{"MilliCPU":0,"Memory":0,"EphemeralStorage":0,"AllowedPodNumber":0,"ScalarResources":null}`,
		},
		{
			name: "all kinds",
			pod:  objects.Pod("p").Container("a", "cpu", "1500m", "memory", "1Ki", "ephemeral-storage", "5", "example.com/gpu", "2", "pods", "3").Overhead("cpu", "1").Build(),
			want: `{"MilliCPU":2500,"Memory":1024,"EphemeralStorage":5,"AllowedPodNumber":0,"ScalarResources":{"example.com/gpu":2}}`,
		},
		{
			name: "pod-level requests", pod: objects.Pod("p").Container("a", "cpu", "1").PodRequests("cpu", "3").Build(),
			want: `{"MilliCPU":3000,"Memory":0,"EphemeralStorage":0,"AllowedPodNumber":0,"ScalarResources":null}`,
		},
		{
			name: "served by devices", pod: objects.Pod("p").Container("a", "example.com/gpu", "1").Build(),
			classes: classes, status: refused,
		},
		{
			name: "zero of a resource served by devices", pod: objects.Pod("p").Container("a", "example.com/gpu", "0").Build(), classes: classes,
			want: `{"MilliCPU":0,"Memory":0,"EphemeralStorage":0,"AllowedPodNumber":0,"ScalarResources":{"example.com/gpu":0}}`,
		},
		{
			name: "another resource", pod: objects.Pod("p").Container("a", "example.com/nic", "1").Build(), classes: classes,
			want: `{"MilliCPU":0,"Memory":0,"EphemeralStorage":0,"AllowedPodNumber":0,"ScalarResources":{"example.com/nic":1}}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fragments, status := noderesources.Sign(tt.pod, tt.classes)
			fixture.CheckStatus(t, status, tt.status)
			if tt.status != nil {
				return
			}
			if len(fragments) != 1 || fragments[0].Key != fwk.ResourcesSignerName {
				t.Fatalf("got fragments %v, want one with key %s", fragments, fwk.ResourcesSignerName)
			}
			got, err := json.Marshal(fragments[0].Value)
			if err != nil || string(got) != tt.want {
				t.Errorf("got %s and error %v, want %s", got, err, tt.want)
			}
		})
	}
}
