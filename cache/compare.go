// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

// Comparison is how a [Dump] differs from the cluster. All lists are sorted, nodes by name, and pods by namespace, name
// and UID.
type Comparison struct {
	// MissedNodes and MissedPods are in the cluster and not in the dump.
	MissedNodes []string       `json:"missedNodes,omitempty"`
	MissedPods  []PodReference `json:"missedPods,omitempty"`
	// RedundantNodes and RedundantPods are in the dump and not in the cluster.
	RedundantNodes []string       `json:"redundantNodes,omitempty"`
	RedundantPods  []PodReference `json:"redundantPods,omitempty"`
}

// Same reports whether nothing differs.
func (c Comparison) Same() bool {
	return len(c.MissedNodes)+len(c.MissedPods)+len(c.RedundantNodes)+len(c.RedundantPods) == 0
}

// Compare compares the dump, together with the pods that wait in the scheduling queue, to the nodes and pods of the
// cluster, such as informers list them: nodes by name, pods by UID. A pod that is being scheduled at the moment is
// neither queued nor in the cache and shows as missed; an entry without a node object is no node.
func (d Dump) Compare(nodes []*v1.Node, pods, queued []*v1.Pod) Comparison {
	var result Comparison
	clusterNodes := sets.New[string]()
	for _, node := range nodes {
		clusterNodes.Insert(node.Name)
	}
	cachedNodes := sets.New[string]()
	knownPods := map[types.UID]PodReference{}
	for _, node := range d.Nodes {
		if node.HasNode {
			cachedNodes.Insert(node.Name)
		}
		for _, pod := range node.Pods {
			knownPods[pod.UID] = pod.PodReference
		}
	}
	result.MissedNodes = sets.List(clusterNodes.Difference(cachedNodes))
	result.RedundantNodes = sets.List(cachedNodes.Difference(clusterNodes))

	for _, pod := range queued {
		knownPods[pod.UID] = referTo(pod)
	}
	clusterPods := map[types.UID]PodReference{}
	for _, pod := range pods {
		clusterPods[pod.UID] = referTo(pod)
	}
	result.MissedPods = onlyInFirst(clusterPods, knownPods)
	result.RedundantPods = onlyInFirst(knownPods, clusterPods)
	return result
}

func onlyInFirst(first, second map[types.UID]PodReference) []PodReference {
	var only []PodReference
	for uid, reference := range first {
		if _, ok := second[uid]; !ok {
			only = append(only, reference)
		}
	}
	slices.SortFunc(only, comparePods)
	return only
}
