// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package extender

import (
	v1 "k8s.io/api/core/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// Prioritize implements fwk.Extender: it returns the scores of nodes, from zero to [extenderv1.MaxExtenderPriority], and
// how much they count. An extender that has no preferences gives every node zero, with weight zero.
func (e *Extender) Prioritize(pod *v1.Pod, nodes []fwk.NodeInfo) (*extenderv1.HostPriorityList, int64, error) {
	if !e.IsPrioritizer() {
		list := make(extenderv1.HostPriorityList, 0, len(nodes))
		for _, node := range nodes {
			list = append(list, extenderv1.HostPriority{Host: node.Node().Name})
		}
		return &list, 0, nil
	}
	list, err := call[extenderv1.HostPriorityList](e, e.settings.PrioritizeVerb, e.arguments(pod, nodes))
	if err != nil {
		return nil, 0, err
	}
	return list, e.settings.Weight, nil
}
