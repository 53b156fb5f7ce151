// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// NodeBuilder makes a node. Its methods return a changed copy and leave the builder as it is, so that a node before and
// after a change is easily written:
//
//	node := objects.Node("n1").Capacity("cpu", "4")
//	before, after := node.Build(), node.Label("disk", "ssd").Build()
//
// Methods that read a text panic if it is wrong, as the mistake is in the source of the test. Make a builder with
// [Node].
type NodeBuilder struct {
	node *v1.Node
}

// Node begins a node of the given name. It is ready, has the hostname label, takes 110 pods, and offers no other
// resource.
func Node(name string) NodeBuilder {
	node := NodeBuilder{&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}}
	return node.Label(v1.LabelHostname, name).Capacity("pods", "110").Condition(v1.NodeReady, v1.ConditionTrue)
}

// Build returns the node. One without a UID gets its name.
func (b NodeBuilder) Build() *v1.Node {
	return b.With(func(node *v1.Node) {
		if node.UID == "" {
			node.UID = types.UID(node.Name)
		}
	}).node
}

// With changes the node in ways that the builder has no method for.
func (b NodeBuilder) With(changes ...func(node *v1.Node)) NodeBuilder {
	if b.node == nil {
		b = Node("")
	}
	changed := b.node.DeepCopy()
	for _, change := range changes {
		change(changed)
	}
	return NodeBuilder{changed}
}

// UID gives the node a UID other than its name, as a node has that takes the place of another.
func (b NodeBuilder) UID(uid types.UID) NodeBuilder {
	return b.With(func(node *v1.Node) { node.UID = uid })
}

// Label sets a label.
func (b NodeBuilder) Label(key, value string) NodeBuilder {
	return b.With(func(node *v1.Node) { metav1.SetMetaDataLabel(&node.ObjectMeta, key, value) })
}

// Annotation sets an annotation.
func (b NodeBuilder) Annotation(key, value string) NodeBuilder {
	return b.With(func(node *v1.Node) { metav1.SetMetaDataAnnotation(&node.ObjectMeta, key, value) })
}

// Capacity sets how much of some resources the node has, and has it offer all of that to pods. The resources are pairs
// of a name and a quantity, such as "cpu", "4".
func (b NodeBuilder) Capacity(pairs ...string) NodeBuilder {
	return b.Allocatable(pairs...).With(func(node *v1.Node) { setQuantities(&node.Status.Capacity, pairs) })
}

// Allocatable sets how much of some resources the node offers to pods, where that is less than its capacity.
func (b NodeBuilder) Allocatable(pairs ...string) NodeBuilder {
	return b.With(func(node *v1.Node) { setQuantities(&node.Status.Allocatable, pairs) })
}

// Taint adds a taint; [PodBuilder.Tolerates] makes a pod tolerate it.
func (b NodeBuilder) Taint(key, value string, effect v1.TaintEffect) NodeBuilder {
	return b.With(func(node *v1.Node) {
		node.Spec.Taints = append(node.Spec.Taints, v1.Taint{Key: key, Value: value, Effect: effect})
	})
}

// Unschedulable cordons the node, without the taint that Kubernetes adds to cordoned nodes.
func (b NodeBuilder) Unschedulable() NodeBuilder {
	return b.With(func(node *v1.Node) { node.Spec.Unschedulable = true })
}

// Image adds an image that the node has, with its size and all its names.
func (b NodeBuilder) Image(bytes int64, names ...string) NodeBuilder {
	return b.With(func(node *v1.Node) {
		node.Status.Images = append(node.Status.Images, v1.ContainerImage{Names: names, SizeBytes: bytes})
	})
}

// Condition sets a condition.
func (b NodeBuilder) Condition(kind v1.NodeConditionType, status v1.ConditionStatus) NodeBuilder {
	return b.With(func(node *v1.Node) {
		for i := range node.Status.Conditions {
			if condition := &node.Status.Conditions[i]; condition.Type == kind {
				condition.Status = status
				return
			}
		}
		node.Status.Conditions = append(node.Status.Conditions, v1.NodeCondition{Type: kind, Status: status})
	})
}
