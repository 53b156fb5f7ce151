// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
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

// checkedNodes is how many nodes are looked at after a plugin was asked about many: others every time.
const checkedNodes = 4

// checkedObject is a pod or node that a plugin should leave as it is, and a copy from before.
type checkedObject struct {
	pod, podBefore   *v1.Pod
	node, nodeBefore *v1.Node
}

// checkPod begins to check a pod, unless that was not asked for or the plugin is of this module.
func (f *Framework) checkPod(plugin *identity, pod *v1.Pod) checkedObject {
	if !f.options.CheckObjects || !plugin.outOfTree || pod == nil {
		return checkedObject{}
	}
	return checkedObject{pod: pod, podBefore: pod.DeepCopy()}
}

func (f *Framework) checkNode(plugin *identity, node *v1.Node) checkedObject {
	if !f.options.CheckObjects || !plugin.outOfTree || node == nil {
		return checkedObject{}
	}
	return checkedObject{node: node, nodeBefore: node.DeepCopy()}
}

// checkNodes begins to check some of the nodes of a search.
func (s *cachedSearch) checkNodes(plugin *identity) []checkedObject {
	count := s.nodes.NodeCount()
	if !s.f.options.CheckObjects || !plugin.outOfTree || count == 0 {
		return nil
	}
	checked := make([]checkedObject, 0, checkedNodes)
	for range min(count, checkedNodes) {
		if node := s.nodes.NodeAt(s.f.cache.checked % count); node != nil {
			checked = append(checked, s.f.checkNode(plugin, node.Node()))
		}
		s.f.cache.checked++
	}
	return checked
}

// unchanged restores and reports objects that a plugin changed.
func (f *Framework) unchanged(method Method, plugin *identity, pod *v1.Pod, objects ...checkedObject) {
	for _, o := range objects {
		object := ""
		switch {
		case o.pod != nil && !equality.Semantic.DeepEqual(o.pod, o.podBefore):
			*o.pod = *o.podBefore
			object = "pod " + klog.KObj(o.pod).String()
		case o.node != nil && !equality.Semantic.DeepEqual(o.node, o.nodeBefore):
			*o.node = *o.nodeBefore
			object = "node " + o.node.Name
		default:
			continue
		}
		err := &ObjectChangedError{Plugin: plugin.name, Method: method, Object: object}
		f.options.Logger.Error(err, "Plugin changed a shared object", "profile", f.ProfileName(), "pod", klog.KObj(pod))
		f.report(method, plugin.name, pod, err)
	}
}
