// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package framework_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/ptr"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// labels returns what the metrics call the events.
func labels(events []fwk.ClusterEvent) []string {
	var labels []string
	for _, event := range events {
		labels = append(labels, event.Label())
	}
	return labels
}

func TestPodEvents(t *testing.T) {
	claims := func(pairs ...string) func(*v1.Pod) {
		return func(pod *v1.Pod) {
			for i := 0; i < len(pairs); i += 2 {
				status := v1.PodResourceClaimStatus{Name: pairs[i]}
				if pairs[i+1] != "" {
					status.ResourceClaimName = ptr.To(pairs[i+1])
				}
				pod.Status.ResourceClaimStatuses = append(pod.Status.ResourceClaimStatuses, status)
			}
		}
	}
	extended := func(name string) func(*v1.Pod) {
		return func(pod *v1.Pod) {
			pod.Status.ExtendedResourceClaimStatus = &v1.PodExtendedResourceClaimStatus{ResourceClaimName: name}
		}
	}
	tests := []struct {
		name     string
		old, new objects.PodBuilder
		want     []string // without the resource
	}{
		{name: "nothing", want: []string{"Update"}},
		{
			name: "a change of no specific kind",
			new:  objects.Pod("").With(func(pod *v1.Pod) { pod.Annotations = map[string]string{"a": "b"} }),
			want: []string{"Update"},
		},
		{name: "label added", new: objects.Pod("").Label("app", "a"), want: []string{"UpdatePodLabel"}},
		{name: "label changed", old: objects.Pod("").Label("app", "a"), new: objects.Pod("").Label("app", "b"), want: []string{"UpdatePodLabel"}},
		{name: "same labels", old: objects.Pod("").Label("app", "a"), new: objects.Pod("").Label("app", "a"), want: []string{"Update"}},
		{
			name: "no labels and empty labels are the same",
			new:  objects.Pod("").With(func(pod *v1.Pod) { pod.Labels = map[string]string{} }),
			want: []string{"Update"},
		},
		{
			name: "scale down",
			old:  objects.Pod("").Container("a", "cpu", "2", "memory", "1Mi"), new: objects.Pod("").Container("a", "cpu", "1", "memory", "1Mi"),
			want: []string{"UpdatePodScaleDown"},
		},
		{
			name: "scale down by less than a unit",
			old:  objects.Pod("").Container("a", "cpu", "2m"), new: objects.Pod("").Container("a", "cpu", "1m"),
			want: []string{"UpdatePodScaleDown"},
		},
		{
			name: "scale up",
			old:  objects.Pod("").Container("a", "cpu", "1"), new: objects.Pod("").Container("a", "cpu", "2"),
			want: []string{"UpdatePodScaleUp"},
		},
		{
			name: "a resource disappears",
			old:  objects.Pod("").Container("a", "cpu", "1", "example.com/gpu", "0"), new: objects.Pod("").Container("a", "cpu", "1"),
			want: []string{"UpdatePodScaleDown"},
		},
		{
			name: "a resource appears",
			old:  objects.Pod("").Container("a"), new: objects.Pod("").Container("a", "memory", "0"),
			want: []string{"UpdatePodScaleUp"},
		},
		{
			name: "one resource down, another up",
			old:  objects.Pod("").Container("a", "cpu", "1", "memory", "1Mi"), new: objects.Pod("").Container("a", "cpu", "2", "memory", "1Ki"),
			want: []string{"UpdatePodScaleDown", "UpdatePodScaleUp"},
		},
		{
			name: "a change below the maximum of the init containers",
			old:  objects.Pod("").InitContainer("init", "cpu", "4").Container("a", "cpu", "2"), new: objects.Pod("").InitContainer("init", "cpu", "4").Container("a", "cpu", "1"),
			want: []string{"Update"},
		},
		{
			name: "pod-level scale up",
			old:  objects.Pod("").PodRequests("cpu", "1").Container("a"), new: objects.Pod("").PodRequests("cpu", "2").Container("a"),
			want: []string{"UpdatePodScaleUp"},
		},
		{
			name: "the node gave the smaller size",
			old:  objects.Pod("").Container("a", "cpu", "1").With(withStatus("a", objects.Resources("cpu", "2"), objects.Resources("cpu", "2"))),
			new:  objects.Pod("").Container("a", "cpu", "1").With(withStatus("a", objects.Resources("cpu", "1"), objects.Resources("cpu", "1"))),
			want: []string{"UpdatePodScaleDown"},
		},
		{
			name: "a smaller size that the node has not given yet",
			old:  objects.Pod("").Container("a", "cpu", "2").With(withStatus("a", objects.Resources("cpu", "2"), nil)),
			new:  objects.Pod("").Container("a", "cpu", "1").With(withStatus("a", objects.Resources("cpu", "2"), nil)),
			want: []string{"Update"},
		},
		{name: "last gate removed", old: objects.Pod("").SchedulingGate("a").SchedulingGate("b"), want: []string{"UpdatePodSchedulingGatesEliminated"}},
		{name: "one of two gates removed", old: objects.Pod("").SchedulingGate("a").SchedulingGate("b"), new: objects.Pod("").SchedulingGate("b"), want: []string{"Update"}},
		{name: "gate added", new: objects.Pod("").SchedulingGate("a"), want: []string{"Update"}},
		{name: "toleration added", old: objects.Pod("").Toleration(v1.Toleration{Key: "a"}), new: objects.Pod("").Toleration(v1.Toleration{Key: "a"}).Toleration(v1.Toleration{Key: "b"}), want: []string{"UpdatePodToleration"}},
		{name: "toleration removed", old: objects.Pod("").Toleration(v1.Toleration{Key: "a"}), want: []string{"UpdatePodToleration"}},
		{name: "as many tolerations", old: objects.Pod("").Toleration(v1.Toleration{Key: "a"}), new: objects.Pod("").Toleration(v1.Toleration{Key: "b"}), want: []string{"Update"}},
		{name: "claim generated", new: objects.Pod("").With(claims("a", "a-1")), want: []string{"UpdatePodGeneratedResourceClaim"}},
		{name: "claim named", old: objects.Pod("").With(claims("a", "")), new: objects.Pod("").With(claims("a", "a-1")), want: []string{"UpdatePodGeneratedResourceClaim"}},
		{name: "claim renamed", old: objects.Pod("").With(claims("a", "a-1")), new: objects.Pod("").With(claims("a", "a-2")), want: []string{"UpdatePodGeneratedResourceClaim"}},
		{
			name: "claims swapped",
			old:  objects.Pod("").With(claims("a", "a-1", "b", "b-1")), new: objects.Pod("").With(claims("b", "b-1", "a", "a-1")),
			want: []string{"UpdatePodGeneratedResourceClaim"},
		},
		{name: "same claims", old: objects.Pod("").With(claims("a", "a-1", "b", "")), new: objects.Pod("").With(claims("a", "a-1", "b", "")), want: []string{"Update"}},
		{
			name: "no claims and an empty list are the same",
			new:  objects.Pod("").With(func(pod *v1.Pod) { pod.Status.ResourceClaimStatuses = []v1.PodResourceClaimStatus{} }),
			want: []string{"Update"},
		},
		{name: "extended resource claim", new: objects.Pod("").With(extended("x")), want: []string{"UpdatePodGeneratedResourceClaim"}},
		{name: "extended resource claim renamed", old: objects.Pod("").With(extended("x")), new: objects.Pod("").With(extended("y")), want: []string{"UpdatePodGeneratedResourceClaim"}},
		{
			name: "everything at once, in the documented order",
			old: objects.Pod("").Container("a", "cpu", "1", "memory", "2").SchedulingGate("a").With(claims("a", "a-1")).
				With(func(pod *v1.Pod) { pod.Annotations = map[string]string{"a": "b"} }),
			new: objects.Pod("").Container("a", "cpu", "2", "memory", "1").Label("app", "a").Toleration(v1.Toleration{Key: "a"}),
			want: []string{"UpdatePodLabel", "UpdatePodScaleDown", "UpdatePodScaleUp", "UpdatePodSchedulingGatesEliminated",
				"UpdatePodToleration", "UpdatePodGeneratedResourceClaim"},
		},
	}
	kinds := []struct {
		resource         string
		oldNode, newNode string
		target           bool
	}{
		{resource: "TargetPod", target: true},
		{resource: "UnscheduledPod"},
		{resource: "AssignedPod", oldNode: "n", newNode: "n"},
		{resource: "AssignedPod", oldNode: "n", newNode: "n", target: true},
		{resource: "AssignedPod", newNode: "n"},
		{resource: "TargetPod", oldNode: "n", target: true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, kind := range kinds {
				oldPod, newPod := test.old.Build(), test.new.Build()
				oldPod.Spec.NodeName, newPod.Spec.NodeName = kind.oldNode, kind.newNode
				var want []string
				for _, action := range test.want {
					want = append(want, kind.resource+action)
				}
				if diff := cmp.Diff(want, labels(framework.PodEvents(oldPod, newPod, kind.target))); diff != "" {
					t.Errorf("node %q to %q, target %t (-want +got):\n%s", kind.oldNode, kind.newNode, kind.target, diff)
				}
			}
		})
	}
}
