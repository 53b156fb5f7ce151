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
	type changes = []func(*v1.Pod)
	labelled := func(app string) func(*v1.Pod) {
		return func(pod *v1.Pod) { pod.Labels = map[string]string{"app": app} }
	}
	gated := func(names ...string) func(*v1.Pod) {
		return func(pod *v1.Pod) {
			for _, name := range names {
				pod.Spec.SchedulingGates = append(pod.Spec.SchedulingGates, v1.PodSchedulingGate{Name: name})
			}
		}
	}
	tolerating := func(keys ...string) func(*v1.Pod) {
		return func(pod *v1.Pod) {
			for _, key := range keys {
				pod.Spec.Tolerations = append(pod.Spec.Tolerations, v1.Toleration{Key: key})
			}
		}
	}
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
		old, new changes
		want     []string // without the resource
	}{
		{name: "nothing", want: []string{"Update"}},
		{
			name: "a change of no specific kind",
			new:  changes{func(pod *v1.Pod) { pod.Annotations = map[string]string{"a": "b"} }},
			want: []string{"Update"},
		},
		{name: "label added", new: changes{labelled("a")}, want: []string{"UpdatePodLabel"}},
		{name: "label changed", old: changes{labelled("a")}, new: changes{labelled("b")}, want: []string{"UpdatePodLabel"}},
		{name: "same labels", old: changes{labelled("a")}, new: changes{labelled("a")}, want: []string{"Update"}},
		{
			name: "no labels and empty labels are the same",
			new:  changes{func(pod *v1.Pod) { pod.Labels = map[string]string{} }},
			want: []string{"Update"},
		},
		{
			name: "scale down",
			old:  changes{withContainer("cpu", "2", "memory", "1Mi")}, new: changes{withContainer("cpu", "1", "memory", "1Mi")},
			want: []string{"UpdatePodScaleDown"},
		},
		{
			name: "scale down by less than a unit",
			old:  changes{withContainer("cpu", "2m")}, new: changes{withContainer("cpu", "1m")},
			want: []string{"UpdatePodScaleDown"},
		},
		{
			name: "scale up",
			old:  changes{withContainer("cpu", "1")}, new: changes{withContainer("cpu", "2")},
			want: []string{"UpdatePodScaleUp"},
		},
		{
			name: "a resource disappears",
			old:  changes{withContainer("cpu", "1", "example.com/gpu", "0")}, new: changes{withContainer("cpu", "1")},
			want: []string{"UpdatePodScaleDown"},
		},
		{
			name: "a resource appears",
			old:  changes{withContainer()}, new: changes{withContainer("memory", "0")},
			want: []string{"UpdatePodScaleUp"},
		},
		{
			name: "one resource down, another up",
			old:  changes{withContainer("cpu", "1", "memory", "1Mi")}, new: changes{withContainer("cpu", "2", "memory", "1Ki")},
			want: []string{"UpdatePodScaleDown", "UpdatePodScaleUp"},
		},
		{
			name: "a change below the maximum of the init containers",
			old:  changes{withInit("cpu", "4"), withContainer("cpu", "2")}, new: changes{withInit("cpu", "4"), withContainer("cpu", "1")},
			want: []string{"Update"},
		},
		{
			name: "pod-level scale up",
			old:  changes{withPodRequests("cpu", "1"), withContainer()}, new: changes{withPodRequests("cpu", "2"), withContainer()},
			want: []string{"UpdatePodScaleUp"},
		},
		{
			name: "the node gave the smaller size",
			old:  changes{withContainer("cpu", "1"), withStatus("a", quantities("cpu", "2"), quantities("cpu", "2"))},
			new:  changes{withContainer("cpu", "1"), withStatus("a", quantities("cpu", "1"), quantities("cpu", "1"))},
			want: []string{"UpdatePodScaleDown"},
		},
		{
			name: "a smaller size that the node has not given yet",
			old:  changes{withContainer("cpu", "2"), withStatus("a", quantities("cpu", "2"), nil)},
			new:  changes{withContainer("cpu", "1"), withStatus("a", quantities("cpu", "2"), nil)},
			want: []string{"Update"},
		},
		{name: "last gate removed", old: changes{gated("a", "b")}, want: []string{"UpdatePodSchedulingGatesEliminated"}},
		{name: "one of two gates removed", old: changes{gated("a", "b")}, new: changes{gated("b")}, want: []string{"Update"}},
		{name: "gate added", new: changes{gated("a")}, want: []string{"Update"}},
		{name: "toleration added", old: changes{tolerating("a")}, new: changes{tolerating("a", "b")}, want: []string{"UpdatePodToleration"}},
		{name: "toleration removed", old: changes{tolerating("a")}, want: []string{"UpdatePodToleration"}},
		{name: "as many tolerations", old: changes{tolerating("a")}, new: changes{tolerating("b")}, want: []string{"Update"}},
		{name: "claim generated", new: changes{claims("a", "a-1")}, want: []string{"UpdatePodGeneratedResourceClaim"}},
		{name: "claim named", old: changes{claims("a", "")}, new: changes{claims("a", "a-1")}, want: []string{"UpdatePodGeneratedResourceClaim"}},
		{name: "claim renamed", old: changes{claims("a", "a-1")}, new: changes{claims("a", "a-2")}, want: []string{"UpdatePodGeneratedResourceClaim"}},
		{
			name: "claims swapped",
			old:  changes{claims("a", "a-1", "b", "b-1")}, new: changes{claims("b", "b-1", "a", "a-1")},
			want: []string{"UpdatePodGeneratedResourceClaim"},
		},
		{name: "same claims", old: changes{claims("a", "a-1", "b", "")}, new: changes{claims("a", "a-1", "b", "")}, want: []string{"Update"}},
		{
			name: "no claims and an empty list are the same",
			new:  changes{func(pod *v1.Pod) { pod.Status.ResourceClaimStatuses = []v1.PodResourceClaimStatus{} }},
			want: []string{"Update"},
		},
		{name: "extended resource claim", new: changes{extended("x")}, want: []string{"UpdatePodGeneratedResourceClaim"}},
		{name: "extended resource claim renamed", old: changes{extended("x")}, new: changes{extended("y")}, want: []string{"UpdatePodGeneratedResourceClaim"}},
		{
			name: "everything at once, in the documented order",
			old: changes{withContainer("cpu", "1", "memory", "2"), gated("a"), claims("a", "a-1"),
				func(pod *v1.Pod) { pod.Annotations = map[string]string{"a": "b"} }},
			new: changes{withContainer("cpu", "2", "memory", "1"), labelled("a"), tolerating("a")},
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
				oldPod, newPod := newPod("p", test.old...), newPod("p", test.new...)
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
