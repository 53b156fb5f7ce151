// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"cmp"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// Dump is everything a [Cache] knows at one moment, as plain values for people and tools.
type Dump struct {
	Counts Counts `json:"counts"`
	// Nodes are sorted by name and include entries without a node object.
	Nodes []NodeDump `json:"nodes"`
}

// NodeDump is one entry of a [Dump].
type NodeDump struct {
	Name string `json:"name"`
	// HasNode is false for a node that is gone but for its pods, or has not been seen yet though pods on it have. Such
	// an entry has no node index and is in no snapshot.
	HasNode bool `json:"hasNode"`
	// NodeIndex is -1 if HasNode is false.
	NodeIndex  int   `json:"nodeIndex"`
	Generation int64 `json:"generation"`
	// Requested sums up the requests of the pods. Its units are those of [framework.Resource], as Allocatable's are.
	Requested   framework.Resource `json:"requested"`
	Allocatable framework.Resource `json:"allocatable"`
	// Pods are sorted by namespace, name and UID.
	Pods []PodDump `json:"pods"`
}

// PodDump is one pod of a [Dump].
type PodDump struct {
	PodReference
	Phase v1.PodPhase `json:"phase,omitempty"`
	// NominatedNode is the node that preemption made room on for the pod, if any.
	NominatedNode string `json:"nominatedNode,omitempty"`
	// Assumed is true while the API server has not confirmed that the pod is on the node.
	Assumed bool `json:"assumed,omitempty"`
}

// PodReference says which pod is meant.
type PodReference struct {
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	UID       types.UID `json:"uid"`
}

// Dump returns everything the cache knows. The cost follows the size of the cluster, and the cache cannot be changed
// meanwhile.
func (c *Cache) Dump() Dump {
	c.mu.RLock()
	defer c.mu.RUnlock()
	dump := Dump{Counts: c.counts(), Nodes: make([]NodeDump, 0, len(c.nodes))}
	for _, entry := range c.nodes {
		dump.Nodes = append(dump.Nodes, c.dumpEntry(entry))
	}
	slices.SortFunc(dump.Nodes, func(a, b NodeDump) int { return cmp.Compare(a.Name, b.Name) })
	return dump
}

func (c *Cache) dumpEntry(entry *nodeEntry) NodeDump {
	copied := entry.info
	dump := NodeDump{
		Name:        entry.name,
		HasNode:     entry.live(),
		NodeIndex:   entry.index,
		Generation:  copied.GetGeneration(),
		Requested:   plainResource(framework.View(copied).Requested()),
		Allocatable: plainResource(framework.View(copied).Allocatable()),
		Pods:        make([]PodDump, 0, len(framework.View(copied).Pods())),
	}
	for _, info := range framework.View(copied).Pods() {
		pod := info.GetPod()
		_, assumed := c.assumed[pod.UID]
		dump.Pods = append(dump.Pods, PodDump{
			PodReference:  referTo(pod),
			Phase:         pod.Status.Phase,
			NominatedNode: pod.Status.NominatedNodeName,
			Assumed:       assumed,
		})
	}
	slices.SortFunc(dump.Pods, func(a, b PodDump) int { return comparePods(a.PodReference, b.PodReference) })
	return dump
}

func referTo(pod *v1.Pod) PodReference {
	return PodReference{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}
}

func comparePods(a, b PodReference) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
}

func plainResource(r fwk.Resource) framework.Resource {
	return framework.Resource{
		MilliCPU:         r.GetMilliCPU(),
		Memory:           r.GetMemory(),
		EphemeralStorage: r.GetEphemeralStorage(),
		AllowedPodNumber: r.GetAllowedPodNumber(),
		ScalarResources:  maps.Clone(r.GetScalarResources()),
	}
}
