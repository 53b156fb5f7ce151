// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
)

// UnknownNodesError says that a plugin named nodes that are not in the snapshot. PreFilter loses them, and the pod of
// PostFilter is nominated for a node where it cannot go, as with kube-scheduler.
type UnknownNodesError struct {
	Plugin string
	Method Method
	// Nodes are their names, sorted.
	Nodes []string
}

// maxNamedNodes is how many nodes the text of an UnknownNodesError names.
const maxNamedNodes = 5

// Error implements error.
func (e *UnknownNodesError) Error() string {
	names, more := e.Nodes, ""
	if len(names) > maxNamedNodes {
		names, more = names[:maxNamedNodes], fmt.Sprintf(" and %d more", len(e.Nodes)-maxNamedNodes)
	}
	return fmt.Sprintf("plugin %q named nodes in %s that do not exist: %s%s", e.Plugin, e.Method, strings.Join(names, ", "), more)
}

// checkKept reports the nodes of a result of PreFilter that do not exist. In-tree plugins, which repeat what a pod names, are
// not checked.
func (f *Framework) checkKept(plugin *identity, pod *v1.Pod, kept *fwk.PreFilterResult) {
	if plugin.outOfTree {
		f.checkNames(MethodPreFilter, plugin, pod, kept.NodeNames)
	}
}

// checkNominated is checkKept for a result of PostFilter.
func (f *Framework) checkNominated(plugin *identity, pod *v1.Pod, offered *fwk.PostFilterResult) {
	if plugin.outOfTree && offered != nil && offered.Mode() == fwk.ModeOverride && offered.NominatedNodeName != "" {
		f.checkNames(MethodPostFilter, plugin, pod, sets.New(offered.NominatedNodeName))
	}
}

func (f *Framework) checkNames(method Method, plugin *identity, pod *v1.Pod, names sets.Set[string]) {
	if f.options.Snapshot == nil {
		return
	}
	var unknown []string
	for name := range names {
		if node, err := f.options.Snapshot.NodeInfos().Get(name); err != nil || node == nil {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) == 0 {
		return
	}
	slices.Sort(unknown)
	err := &UnknownNodesError{Plugin: plugin.name, Method: method, Nodes: unknown}
	f.options.Logger.Info("Warning: "+err.Error(), "profile", f.ProfileName(), "pod", klog.KObj(pod))
	f.report(method, plugin.name, pod, err)
}
