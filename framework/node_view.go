// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"sync/atomic"

	fwk "k8s.io/kube-scheduler/framework"
)

// NodeView reads a node info without the copies that its methods make of what other node infos have too. Nothing that its
// methods return may be changed. Make one with [View].
type NodeView struct {
	own   *NodeInfo
	other fwk.NodeInfo
}

// View returns a view of a node info of any type. It costs nothing.
func View(node fwk.NodeInfo) NodeView {
	if own, ok := node.(*NodeInfo); ok {
		return NodeView{own: own}
	}
	return NodeView{other: node}
}

// Pods is fwk.NodeInfo.GetPods for reading.
func (v NodeView) Pods() []fwk.PodInfo {
	if v.own == nil {
		return v.other.GetPods()
	}
	return read(v.own, &v.own.podLists, listsOf).pods
}

// PodsWithAffinity is fwk.NodeInfo.GetPodsWithAffinity for reading.
func (v NodeView) PodsWithAffinity() []fwk.PodInfo {
	if v.own == nil {
		return v.other.GetPodsWithAffinity()
	}
	return read(v.own, &v.own.podLists, listsOf).podsWithAffinity
}

// PodsWithRequiredAntiAffinity is fwk.NodeInfo.GetPodsWithRequiredAntiAffinity for reading.
func (v NodeView) PodsWithRequiredAntiAffinity() []fwk.PodInfo {
	if v.own == nil {
		return v.other.GetPodsWithRequiredAntiAffinity()
	}
	return read(v.own, &v.own.podLists, listsOf).podsWithRequiredAntiTerms
}

// UsedPorts is fwk.NodeInfo.GetUsedPorts for reading.
func (v NodeView) UsedPorts() fwk.HostPortInfo {
	if v.own == nil {
		return v.other.GetUsedPorts()
	}
	return read(v.own, &v.own.nodeMaps, mapsOf).usedPorts
}

// ClaimCounts is fwk.NodeInfo.GetPVCRefCounts for reading.
func (v NodeView) ClaimCounts() map[string]int {
	if v.own == nil {
		return v.other.GetPVCRefCounts()
	}
	return read(v.own, &v.own.nodeMaps, mapsOf).claims
}

// Requested is fwk.NodeInfo.GetRequested for reading.
func (v NodeView) Requested() fwk.Resource {
	if v.own == nil {
		return v.other.GetRequested()
	}
	return &read(v.own, v.own.sums(), sumsOf).requested
}

// NonZeroRequested is fwk.NodeInfo.GetNonZeroRequested for reading.
func (v NodeView) NonZeroRequested() fwk.Resource {
	if v.own == nil {
		return v.other.GetNonZeroRequested()
	}
	return &read(v.own, v.own.sums(), sumsOf).nonZeroRequested
}

// Allocatable is fwk.NodeInfo.GetAllocatable for reading.
func (v NodeView) Allocatable() fwk.Resource {
	if v.own == nil {
		return v.other.GetAllocatable()
	}
	return read(v.own, &v.own.allocatable, allocatableOf)
}

// ImageStates is fwk.NodeInfo.GetImageStates for reading.
func (v NodeView) ImageStates() map[string]*fwk.ImageStateSummary {
	if v.own == nil {
		return v.other.GetImageStates()
	}
	return *read(v.own, &v.own.images, imagesOf)
}

// read returns a part of a node info: the copy that was handed out of it, which may have been changed, unless the node info
// is frozen.
func read[Part any](n *NodeInfo, part *Part, place func(*givenParts) *atomic.Pointer[Part]) *Part {
	given := n.given.Load()
	if given == nil || n.flags.Load()&frozen != 0 {
		return part
	}
	if handed := place(given).Load(); handed != nil {
		return handed
	}
	return part
}

func listsOf(g *givenParts) *atomic.Pointer[podLists]       { return &g.lists }
func mapsOf(g *givenParts) *atomic.Pointer[nodeMaps]        { return &g.maps }
func sumsOf(g *givenParts) *atomic.Pointer[nodeSums]        { return &g.sums }
func allocatableOf(g *givenParts) *atomic.Pointer[Resource] { return &g.allocatable }
func imagesOf(g *givenParts) *atomic.Pointer[map[string]*fwk.ImageStateSummary] {
	return &g.images
}
