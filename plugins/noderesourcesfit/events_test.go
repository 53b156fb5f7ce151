// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package noderesourcesfit

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/ptr"

	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

func TestHintAfterPodDeleted(t *testing.T) {
	nominated := objects.Pod("d").With(func(pod *v1.Pod) { pod.Status.NominatedNodeName = "n" }).Build()
	tests := []struct {
		name    string
		deleted *v1.Pod
		want    fwk.QueueingHint
	}{
		{"unscheduled", objects.Pod("d").Container("a", "cpu", "1").Build(), fwk.QueueSkip},
		{"nominated", nominated, fwk.Queue},
		{"assigned", objects.Pod("d").Node("n").Container("a", "cpu", "1").Build(), fwk.Queue},
		{"assigned, without requests", objects.Pod("d").Node("n").Build(), fwk.Queue},
	}
	hint := fixture.Hint(t, newPlugin(t, nil, nil), fwk.AssignedPod, fwk.Delete)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fixture.CheckHint(t, hint, requests("cpu", "1"), tt.deleted, nil, tt.want)
		})
	}
	t.Run("wrong, absent and unknown objects", func(t *testing.T) {
		fixture.CheckHintObjects(t, hint, requests("cpu", "1"), tests[0].deleted)
	})
}

func TestHintAfterNodeChange(t *testing.T) {
	offering := func(pairs ...string) *v1.Node { return objects.Node("n").Allocatable(pairs...).Build() }
	small := offering("cpu", "1", "memory", "1Gi", "pods", "10")
	big := offering("cpu", "4", "memory", "4Gi", "pods", "10")
	tests := []struct {
		name     string
		pod      *v1.Pod
		old, new *v1.Node
		want     fwk.QueueingHint
	}{
		{"add: fits", requests("cpu", "2"), nil, big, fwk.Queue},
		{"add: does not fit the empty node", requests("cpu", "2"), nil, small, fwk.QueueSkip},
		{"add: no pods allowed", requests("cpu", "2"), nil, offering("cpu", "4", "pods", "0"), fwk.QueueSkip},
		{"add: lacks the extended resource", requests(gpu, "1"), nil, big, fwk.QueueSkip},
		{"add: nothing requested", requests(), nil, small, fwk.Queue},
		{"update: fits now", requests("cpu", "2"), small, big, fwk.Queue},
		{"update: grew but still does not fit", requests("cpu", "8"), small, big, fwk.QueueSkip},
		{"update: fitted before, requested resource grew", requests("cpu", "1"), small, big, fwk.Queue},
		{"update: shrank", requests("cpu", "1"), big, small, fwk.QueueSkip},
		{
			"update: another resource grew", requests("cpu", "1"), big,
			offering("cpu", "4", "memory", "8Gi", "pods", "10"), fwk.QueueSkip,
		},
		{"update: memory grew", requests("memory", "1Gi"), big, offering("cpu", "4", "memory", "8Gi", "pods", "10"), fwk.Queue},
		{
			"update: ephemeral storage grew", requests("ephemeral-storage", "1"), big,
			offering("ephemeral-storage", "2", "pods", "10"), fwk.Queue,
		},
		{
			"update: extended resource grew", requests(gpu, "1"), offering(gpu, "1", "pods", "10"),
			offering(gpu, "2", "pods", "10"), fwk.Queue,
		},
		{"update: extended resource appeared", requests(gpu, "1"), big, offering(gpu, "2", "pods", "10"), fwk.Queue},
		{
			"update: extended resource stayed", requests(gpu, "1"), offering(gpu, "2", "pods", "10"),
			offering(gpu, "2", "cpu", "8", "pods", "10"), fwk.QueueSkip,
		},
		{"update: more pods allowed", requests("cpu", "1"), small, offering("cpu", "1", "pods", "11"), fwk.Queue},
		{"update: fewer pods allowed", requests("cpu", "1"), big, offering("cpu", "4", "pods", "9"), fwk.QueueSkip},
		{"update: nothing requested, resources grew", requests(), small, big, fwk.QueueSkip},
		{"update: nothing requested, more pods allowed", requests(), small, offering("pods", "11"), fwk.Queue},
	}
	hint := fixture.Hint(t, newPlugin(t, nil, nil), fwk.Node, fwk.Add|fwk.UpdateNodeAllocatable)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fixture.CheckHint(t, hint, tt.pod, tt.old, tt.new, tt.want)
		})
	}
	t.Run("ignored resources need not fit", func(t *testing.T) {
		args := strategyArgs(configv1.LeastAllocated, "cpu")
		args.IgnoredResources = []string{gpu}
		hint := fixture.Hint(t, newPlugin(t, args, nil), fwk.Node, fwk.Add|fwk.UpdateNodeAllocatable)
		fixture.CheckHint(t, hint, requests(gpu, "1"), nil, big, fwk.Queue)
		fixture.CheckHint(t, hint, requests(gpu, "1", "cpu", "8"), nil, big, fwk.QueueSkip)
	})
	t.Run("a resource served by devices", func(t *testing.T) {
		dra := &fixture.DeviceClasses{Serving: map[v1.ResourceName]string{gpu: "gpus"}}
		hint := fixture.Hint(t, newPlugin(t, nil, dra), fwk.Node, fwk.Add|fwk.UpdateNodeAllocatable)
		fixture.CheckHint(t, hint, requests(gpu, "1"), nil, big, fwk.Queue)
		fixture.CheckHint(t, hint, requests(gpu, "1"), big, big, fwk.Queue)
		fixture.CheckHint(t, hint, requests(gpu, "1", "cpu", "8"), big, big, fwk.QueueSkip)
		fixture.CheckHint(t, hint, requests("cpu", "1"), big, big, fwk.QueueSkip)
	})
	t.Run("wrong and absent objects", func(t *testing.T) {
		fixture.CheckHintObjects(t, hint, requests("cpu", "1"), nil)
	})
}

func TestHintAfterDeviceClassChange(t *testing.T) {
	class := func(name string, resource *string) *resourceapi.DeviceClass {
		class := objects.DeviceClass(name)
		class.Spec.ExtendedResourceName = resource
		return class
	}
	wantsGPU := requests(gpu, "1")
	wantsClass := requests("deviceclass.resource.kubernetes.io/fast", "1")
	tests := []struct {
		name     string
		pod      *v1.Pod
		old, new *resourceapi.DeviceClass
		want     fwk.QueueingHint
	}{
		{"add: serves the requested resource", wantsGPU, nil, class("fast", ptr.To(gpu)), fwk.Queue},
		{"add: serves another", wantsGPU, nil, class("fast", ptr.To("example.com/nic")), fwk.QueueSkip},
		{"add: serves none", wantsGPU, nil, class("fast", nil), fwk.QueueSkip},
		{"add: requested by its name", wantsClass, nil, class("fast", nil), fwk.Queue},
		{"add: another requested by its name", wantsClass, nil, class("slow", nil), fwk.QueueSkip},
		{"update: begins to serve", wantsGPU, class("fast", nil), class("fast", ptr.To(gpu)), fwk.Queue},
		{"update: serves another now", wantsGPU, class("fast", ptr.To(gpu)), class("fast", ptr.To("example.com/nic")), fwk.QueueSkip},
		{"update: name unchanged", wantsGPU, class("fast", ptr.To(gpu)), class("fast", ptr.To(gpu)), fwk.QueueSkip},
		{"update: empty is the same as none", wantsGPU, class("fast", nil), class("fast", ptr.To("")), fwk.QueueSkip},
		{
			"update: requested by its name, which was there before", wantsClass, class("fast", nil),
			class("fast", ptr.To(gpu)), fwk.QueueSkip,
		},
	}
	hint := fixture.Hint(t, newPlugin(t, nil, nil), fwk.DeviceClass, fwk.Add|fwk.Update)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fixture.CheckHint(t, hint, tt.pod, tt.old, tt.new, tt.want)
		})
	}
	t.Run("wrong and absent objects", func(t *testing.T) {
		fixture.CheckHintObjects(t, hint, wantsGPU, nil)
	})
}

func TestHintAfterPodShrunk(t *testing.T) {
	running := func(requests ...string) *v1.Pod {
		return objects.Pod("r").Node("n").Container("a", requests...).Build()
	}
	// The container still runs with what it had, whatever the spec says.
	notYetResized := running("cpu", "1")
	notYetResized.Status.ContainerStatuses = []v1.ContainerStatus{{
		Name: "a", AllocatedResources: objects.Resources("cpu", "2"),
		Resources: &v1.ResourceRequirements{Requests: objects.Resources("cpu", "2")},
	}}
	tests := []struct {
		name     string
		pod      *v1.Pod
		old, new *v1.Pod
		want     fwk.QueueingHint
	}{
		{"requested resource", requests("cpu", "1"), running("cpu", "2"), running("cpu", "1"), fwk.Queue},
		{"memory", requests("memory", "1"), running("memory", "2"), running("memory", "1"), fwk.Queue},
		{"extended resource", requests(gpu, "1"), running(gpu, "2"), running(gpu, "1"), fwk.Queue},
		{"another resource", requests("memory", "1"), running("cpu", "2"), running("cpu", "1"), fwk.QueueSkip},
		{"request of zero", requests("cpu", "0"), running("cpu", "2"), running("cpu", "1"), fwk.QueueSkip},
		{"grew", requests("cpu", "1"), running("cpu", "1"), running("cpu", "2"), fwk.QueueSkip},
		{"not resized yet", requests("cpu", "1"), running("cpu", "2"), notYetResized, fwk.QueueSkip},
		{"resized at last", requests("cpu", "1"), notYetResized, running("cpu", "1"), fwk.Queue},
		{"not assigned", requests("cpu", "1"), requests("cpu", "2"), requests("cpu", "1"), fwk.QueueSkip},
	}
	hint := fixture.Hint(t, newPlugin(t, nil, nil), fwk.AssignedPod, fwk.UpdatePodScaleDown)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fixture.CheckHint(t, hint, tt.pod, tt.old, tt.new, tt.want)
		})
	}
	t.Run("wrong and absent objects", func(t *testing.T) {
		fixture.CheckHintObjects(t, hint, requests("cpu", "1"), nil)
	})
}

func TestHintAfterSelfShrunk(t *testing.T) {
	hint := fixture.Hint(t, newPlugin(t, nil, nil), fwk.TargetPod, fwk.UpdatePodScaleDown)
	fixture.CheckHint(t, hint, requests("cpu", "1"), requests("cpu", "2"), requests("cpu", "1"), fwk.Queue)
	fixture.CheckHint(t, hint, requests("cpu", "1"), nil, nil, fwk.Queue)
}
