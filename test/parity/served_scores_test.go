// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/ptr"
)

// TestServedResourcesAreNotScored shows a difference on purpose: where a profile scores an extended resource that devices
// serve, NodeResourcesFit leaves it out on nodes that don't offer it themselves. kube-scheduler counts the devices.
func TestServedResourcesAreNotScored(t *testing.T) {
	g := newGenerator(1)
	node := g.deviceNode(0)
	delete(node.Status.Allocatable, served)
	class := &resourceapi.DeviceClass{}
	class.Name, class.Spec.ExtendedResourceName = "any", ptr.To(string(served))
	slice := &resourceapi.ResourceSlice{}
	slice.Name = "gpus"
	slice.Spec = resourceapi.ResourceSliceSpec{
		Driver: gpuDriver, NodeName: &node.Name, Pool: resourceapi.ResourcePool{Name: "gpus", Generation: 1, ResourceSliceCount: 1},
		Devices: []resourceapi.Device{{Name: "gpu-0"}},
	}
	pod := g.podWithClaims("pod-0")
	pod.Spec.InitContainers, pod.Spec.ResourceClaims = nil, nil
	pod.Spec.Containers = []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{served: resource.MustParse("1"), "cpu": resource.MustParse("2")}}}}
	score := func(build builder, resources ...configv1.ResourceSpec) int64 {
		t.Helper()
		p := all([]configv1.Plugin{{Name: "NodeResourcesFit"}})
		p.args["NodeResourcesFit"].(*configv1.NodeResourcesFitArgs).ScoringStrategy = &configv1.ScoringStrategy{Type: configv1.MostAllocated, Resources: resources}
		s, err := build(t.Context(), cluster{nodes: []*v1.Node{node}, objects: []apiruntime.Object{class, slice}}, p)
		if err != nil {
			t.Fatal(err)
		}
		nodes, err := s.nodes()
		if err != nil {
			t.Fatal(err)
		}
		plugin, state := s.plugins["NodeResourcesFit"], s.newState()
		if status := plugin.(fwk.PreScorePlugin).PreScore(t.Context(), state, pod, nodes); !status.IsSuccess() {
			t.Fatal(status.AsError())
		}
		score, status := plugin.(fwk.ScorePlugin).Score(t.Context(), state, pod, nodes[0])
		if !status.IsSuccess() {
			t.Fatal(status.AsError())
		}
		return score
	}
	cpu, gpu := configv1.ResourceSpec{Name: "cpu", Weight: 1}, configv1.ResourceSpec{Name: string(served), Weight: 1}
	if without, with := score(ours, cpu), score(ours, cpu, gpu); with != without {
		t.Errorf("the score is %d with the resource and %d without", with, without)
	}
	if without, with := score(theirs, cpu), score(theirs, cpu, gpu); with == without {
		t.Errorf("kube-scheduler's score is %d with the resource and without: there is no difference any more", with)
	}
}
