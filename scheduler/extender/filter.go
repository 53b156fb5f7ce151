// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package extender

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// Filter implements fwk.Extender: it returns those of the nodes that the extender keeps, as they were given and in the
// order of its answer, and what it says about others. An extender that does not filter keeps all of them.
func (e *Extender) Filter(pod *v1.Pod, nodes []fwk.NodeInfo) (
	kept []fwk.NodeInfo, failed, unresolvable extenderv1.FailedNodesMap, err error,
) {
	if !e.IsFilter() {
		return nodes, extenderv1.FailedNodesMap{}, extenderv1.FailedNodesMap{}, nil
	}
	result, err := call[extenderv1.ExtenderFilterResult](e, e.settings.FilterVerb, e.arguments(pod, nodes))
	if err != nil {
		return nil, nil, nil, err
	}
	if result.Error != "" {
		return nil, nil, nil, e.ownError(e.settings.FilterVerb, result.Error)
	}
	byName := make(map[string]fwk.NodeInfo, len(nodes))
	for _, node := range nodes {
		byName[node.Node().Name] = node
	}
	names := e.keptNames(result)
	kept = make([]fwk.NodeInfo, 0, len(names))
	for _, name := range names {
		node, ok := byName[name]
		if !ok {
			return nil, nil, nil, fmt.Errorf("extender %q claims a filtered node %q which is not found in the input node list", e.Name(), name)
		}
		if node != nil { // otherwise it is there twice
			kept = append(kept, node)
			byName[name] = nil
		}
	}
	return kept, result.FailedNodes, result.FailedAndUnresolvableNodes, nil
}

// arguments returns what is sent to filter and to prioritize.
func (e *Extender) arguments(pod *v1.Pod, nodes []fwk.NodeInfo) *extenderv1.ExtenderArgs {
	arguments := &extenderv1.ExtenderArgs{Pod: pod}
	if e.settings.NodeCacheCapable {
		names := make([]string, 0, len(nodes))
		for _, node := range nodes {
			names = append(names, node.Node().Name)
		}
		arguments.NodeNames = &names
		return arguments
	}
	arguments.Nodes = &v1.NodeList{Items: make([]v1.Node, 0, len(nodes))}
	for _, node := range nodes {
		arguments.Nodes.Items = append(arguments.Nodes.Items, *node.Node())
	}
	return arguments
}

// keptNames returns the names of the nodes that are left. They count in either form; if both are there, in the form in
// which the extender was asked.
func (e *Extender) keptNames(result *extenderv1.ExtenderFilterResult) []string {
	if result.NodeNames != nil && (e.settings.NodeCacheCapable || result.Nodes == nil) {
		return *result.NodeNames
	}
	var names []string
	if result.Nodes != nil {
		for i := range result.Nodes.Items {
			names = append(names, result.Nodes.Items[i].Name)
		}
	}
	return names
}

// ownError is an error that the extender itself answers with.
func (e *Extender) ownError(verb, message string) error {
	return fmt.Errorf("extender at URL %s/%s answered with an error: %s", e.prefix, verb, message)
}
