// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package framework_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

func TestNodeEvents(t *testing.T) {
	type changes = []func(*v1.Node)
	bare := func(changes changes) *v1.Node { // which has nothing that a node usually has
		node := &v1.Node{}
		for _, change := range changes {
			change(node)
		}
		return node
	}
	set := func(change func(*v1.Node)) changes { return changes{change} }
	allocatable := func(pairs ...string) changes {
		return set(func(node *v1.Node) { node.Status.Allocatable = objects.Resources(pairs...) })
	}
	taints := func(keys ...string) changes {
		return set(func(node *v1.Node) {
			for _, key := range keys {
				node.Spec.Taints = append(node.Spec.Taints, v1.Taint{Key: key, Effect: v1.TaintEffectNoSchedule})
			}
		})
	}
	features := func(names ...string) changes {
		return set(func(node *v1.Node) { node.Status.DeclaredFeatures = names })
	}
	condition := func(kind v1.NodeConditionType, status v1.ConditionStatus, second int64) func(*v1.Node) {
		return func(node *v1.Node) {
			at := metav1.Time{Time: time.Unix(second, 0)}
			node.Status.Conditions = append(node.Status.Conditions, v1.NodeCondition{
				Type: kind, Status: status, LastHeartbeatTime: at, LastTransitionTime: at, Reason: at.String(), Message: at.String()})
		}
	}
	cordoned := set(func(node *v1.Node) { node.Spec.Unschedulable = true })
	labelled := set(func(node *v1.Node) { node.Labels = map[string]string{"zone": "a"} })
	tests := []struct {
		name     string
		old, new changes
		want     []string // without the resource
	}{
		{name: "nothing"},
		{
			name: "heartbeat",
			old:  changes{condition(v1.NodeReady, v1.ConditionTrue, 1), condition(v1.NodeDiskPressure, v1.ConditionFalse, 1)},
			new:  changes{condition(v1.NodeDiskPressure, v1.ConditionFalse, 9), condition(v1.NodeReady, v1.ConditionTrue, 9)},
		},
		{name: "uncordoned", old: cordoned, want: []string{"UpdateNodeTaint"}},
		{name: "cordoned", new: cordoned},
		{name: "cordoned before and after", old: cordoned, new: cordoned},
		{
			name: "uncordoned, and its taint removed", old: append(taints("node.kubernetes.io/unschedulable"), cordoned...),
			want: []string{"UpdateNodeTaint", "UpdateNodeTaint"},
		},
		{name: "allocatable up", old: allocatable("cpu", "1"), new: allocatable("cpu", "2"), want: []string{"UpdateNodeAllocatable"}},
		{name: "allocatable down", old: allocatable("cpu", "2"), new: allocatable("cpu", "1"), want: []string{"UpdateNodeAllocatable"}},
		{name: "allocatable, new resource", new: allocatable("cpu", "0"), want: []string{"UpdateNodeAllocatable"}},
		{name: "allocatable, written another way", old: allocatable("cpu", "1"), new: allocatable("cpu", "1000m")},
		{name: "allocatable, nil and empty", new: set(func(node *v1.Node) { node.Status.Allocatable = v1.ResourceList{} })},
		{name: "capacity", new: set(func(node *v1.Node) { node.Status.Capacity = objects.Resources("cpu", "1") })},
		{name: "label", new: labelled, want: []string{"UpdateNodeLabel"}},
		{name: "labels, nil and empty", new: set(func(node *v1.Node) { node.Labels = map[string]string{} })},
		{name: "taint added", old: taints("a"), new: taints("a", "b"), want: []string{"UpdateNodeTaint"}},
		{name: "taint removed", old: taints("a"), want: []string{"UpdateNodeTaint"}},
		{name: "taints reordered", old: taints("a", "b"), new: taints("b", "a"), want: []string{"UpdateNodeTaint"}},
		{name: "taints, nil and empty", new: set(func(node *v1.Node) { node.Spec.Taints = []v1.Taint{} })},
		{
			name: "condition status",
			old:  changes{condition(v1.NodeReady, v1.ConditionTrue, 1)}, new: changes{condition(v1.NodeReady, v1.ConditionUnknown, 1)},
			want: []string{"UpdateNodeCondition"},
		},
		{name: "condition added", new: changes{condition(v1.NodeReady, v1.ConditionFalse, 1)}, want: []string{"UpdateNodeCondition"}},
		{name: "condition removed", old: changes{condition(v1.NodeReady, v1.ConditionFalse, 1)}, want: []string{"UpdateNodeCondition"}},
		{
			name: "annotation", new: set(func(node *v1.Node) { node.Annotations = map[string]string{"a": "b"} }),
			want: []string{"UpdateNodeAnnotation"},
		},
		{
			name: "preemption policy", new: set(func(node *v1.Node) { node.Spec.PodPreemptionPolicy = &v1.NodePodPreemptionPolicy{} }),
			want: []string{"UpdateNodePreemptionPolicy"},
		},
		{name: "declared features added", new: features("a"), want: []string{"UpdateNodeDeclaredFeature"}},
		{name: "declared features removed", old: features("a", "b"), new: features("b"), want: []string{"UpdateNodeDeclaredFeature"}},
		{name: "declared features reordered", old: features("a", "b"), new: features("b", "a"), want: []string{"UpdateNodeDeclaredFeature"}},
		{name: "declared features the same", old: features("a", "b"), new: features("a", "b")},
		{name: "declared features, nil and empty", new: set(func(node *v1.Node) { node.Status.DeclaredFeatures = []string{} })},
		{
			name: "what only the cache reads",
			new: set(func(node *v1.Node) {
				node.Status.Images = []v1.ContainerImage{{Names: []string{"nginx"}}}
				node.Status.Addresses = []v1.NodeAddress{{Address: "10.0.0.1"}}
				node.Status.NodeInfo.KubeletVersion = "v1.37.1"
				node.ResourceVersion = "2"
			}),
		},
		{name: "label and taint", new: append(taints("a"), labelled...), want: []string{"UpdateNodeLabel", "UpdateNodeTaint"}},
		{
			name: "everything at once, in the documented order",
			old:  cordoned,
			new: append(append(append(append(allocatable("cpu", "1"), taints("a")...), features("a")...), labelled...),
				condition(v1.NodeReady, v1.ConditionTrue, 1), func(node *v1.Node) {
					node.Annotations = map[string]string{"a": "b"}
					node.Spec.PodPreemptionPolicy = &v1.NodePodPreemptionPolicy{}
				}),
			want: []string{"UpdateNodeTaint", "UpdateNodeAllocatable", "UpdateNodeLabel", "UpdateNodeTaint", "UpdateNodeCondition",
				"UpdateNodeAnnotation", "UpdateNodePreemptionPolicy", "UpdateNodeDeclaredFeature"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var want []string
			for _, action := range test.want {
				want = append(want, "Node"+action)
			}
			got := labels(framework.NodeEvents(bare(test.old), bare(test.new)))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("NodeEvents (-want +got):\n%s", diff)
			}
		})
	}
}
