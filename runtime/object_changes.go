// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
)

// ObjectChangedError says that a plugin changed an object that it shares with informers and other plugins.
type ObjectChangedError struct {
	Plugin string
	Method Method
	// Object is what was changed, such as "pod shop/web".
	Object string
}

// Error implements error.
func (e *ObjectChangedError) Error() string {
	return fmt.Sprintf("plugin %q changed %s in %s, which others have too; it was restored; change a DeepCopy instead", e.Plugin, e.Object, e.Method)
}

// checkedObject is a pod or node that a plugin should leave as it is, and a copy from before.
type checkedObject struct {
	pod, podBefore   *v1.Pod
	node, nodeBefore *v1.Node
}

// checksObjects reports whether a plugin is checked for changes of objects.
func (f *Framework) checksObjects(plugin *identity) bool {
	return f.options.Execution.CheckObjects && plugin.outOfTree
}

func checkPod(pod *v1.Pod) checkedObject {
	return checkedObject{pod: pod, podBefore: pod.DeepCopy()}
}

func checkNode(node *v1.Node) checkedObject {
	return checkedObject{node: node, nodeBefore: node.DeepCopy()}
}

// fewNodes is how many nodes are all checked.
const fewNodes = 4

// checkedObjects returns what a plugin must leave as it is while it is asked about nodes: the pod, a node of the snapshot, and
// those nodes if they are few, otherwise one of them. The first two are copied once for a search; the next search has the next
// node of the snapshot.
func (s *cachedSearch) checkedObjects(nodeIndexes []int) []checkedObject {
	c := s.cache
	if s.checked == nil {
		s.checked = append(s.checked, checkPod(s.pod))
		if order := s.nodes.ListOrder(); len(order) > 0 {
			c.checkedNode = (c.checkedNode + 1) % len(order)
			s.checked = s.appendNode(s.checked, order[c.checkedNode])
		}
	}
	if len(nodeIndexes) == 0 {
		return s.checked
	}
	if len(nodeIndexes) <= fewNodes {
		checked := slices.Clip(s.checked)
		for _, nodeIndex := range nodeIndexes {
			checked = s.appendNode(checked, nodeIndex)
		}
		return checked
	}
	c.checkedPass++
	return s.appendNode(slices.Clip(s.checked), nodeIndexes[c.checkedPass%len(nodeIndexes)])
}

func (s *cachedSearch) appendNode(checked []checkedObject, nodeIndex int) []checkedObject {
	info := s.nodes.NodeAt(nodeIndex)
	if info == nil || info.Node() == nil {
		return checked
	}
	return append(checked, checkNode(info.Node()))
}

// unchanged restores and reports objects that a plugin changed.
func (f *Framework) unchanged(method Method, plugin *identity, pod *v1.Pod, objects ...checkedObject) {
	for _, o := range objects {
		object := ""
		switch {
		case o.pod != nil && !equalObjects(o.pod, o.podBefore):
			o.podBefore.DeepCopyInto(o.pod) // the copy may be compared again
			object = "pod " + klog.KObj(o.pod).String()
		case o.node != nil && !equalObjects(o.node, o.nodeBefore):
			o.nodeBefore.DeepCopyInto(o.node)
			object = "node " + o.node.Name
		default:
			continue
		}
		err := &ObjectChangedError{Plugin: plugin.name, Method: method, Object: object}
		f.options.Logger.Error(err, "Plugin changed a shared object", "profile", f.ProfileName(), "pod", klog.KObj(pod))
		f.report(method, plugin.name, pod, err)
	}
}
