// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"maps"
	"slices"
	"sync/atomic"

	fwk "k8s.io/kube-scheduler/framework"
)

// podLists are the pods of a node info.
type podLists struct {
	pods                      []fwk.PodInfo
	podsWithAffinity          []fwk.PodInfo
	podsWithRequiredAntiTerms []fwk.PodInfo
}

func (l *podLists) copy() *podLists {
	return &podLists{
		pods:                      slices.Clone(l.pods),
		podsWithAffinity:          slices.Clone(l.podsWithAffinity),
		podsWithRequiredAntiTerms: slices.Clone(l.podsWithRequiredAntiTerms),
	}
}

// clipped returns the lists without room at their ends, which at most one node info may fill.
func (l *podLists) clipped() podLists {
	return podLists{slices.Clip(l.pods), slices.Clip(l.podsWithAffinity), slices.Clip(l.podsWithRequiredAntiTerms)}
}

// nodeMaps are what the pods of a node info use and no other pod may use, or knows of.
type nodeMaps struct {
	usedPorts fwk.HostPortInfo
	claims    map[string]int
}

func (m *nodeMaps) copy() *nodeMaps {
	copied := &nodeMaps{claims: maps.Clone(m.claims)}
	if m.usedPorts != nil {
		copied.usedPorts = make(fwk.HostPortInfo, len(m.usedPorts))
		for ip, used := range m.usedPorts {
			copied.usedPorts[ip] = maps.Clone(used)
		}
	}
	return copied
}

// nodeSums are the sums over the requests of the pods of a node info.
type nodeSums struct{ requested, nonZeroRequested Resource }

func (s *nodeSums) copy() *nodeSums {
	return &nodeSums{requested: *s.requested.Clone(), nonZeroRequested: *s.nonZeroRequested.Clone()}
}

func copyImages(images *map[string]*fwk.ImageStateSummary) *map[string]*fwk.ImageStateSummary {
	copied := maps.Clone(*images)
	for name, state := range copied {
		own := *state
		copied[name] = &own
	}
	return &copied
}

// partFlags are what flags say of the parts of a node info: that other node infos have them too, so that they must not
// change, or that the methods of fwk.NodeInfo returned them as they are, so that no other node info may have them.
type partFlags = uint32

const (
	sharedLists partFlags = 1 << iota // of which copies see as many pods as there were when they were made
	sharedMaps
	sharedSums
	sharedAllocatable
	sharedImages
	handedLists
	handedMaps
	handedSums
	handedAllocatable
	handedImages

	// frozen says that the parts stay as they are, whatever callers do with the copies that they got.
	frozen

	sharedAll = sharedLists | sharedMaps | sharedSums | sharedAllocatable | sharedImages
	// toHanded shifts a shared flag to the handed flag of the same part.
	toHanded = 5
)

// givenParts are the copies of shared parts that were handed out. A part is nil until it is asked for.
type givenParts struct {
	lists       atomic.Pointer[podLists]
	maps        atomic.Pointer[nodeMaps]
	sums        atomic.Pointer[nodeSums]
	allocatable atomic.Pointer[Resource]
	images      atomic.Pointer[map[string]*fwk.ImageStateSummary]
}

func (n *NodeInfo) givenParts() *givenParts {
	if given := n.given.Load(); given != nil {
		return given
	}
	n.given.CompareAndSwap(nil, &givenParts{})
	return n.given.Load()
}

// hand notes that a part is handed out as it is, unless it is shared and must be copied, which it reports.
func (n *NodeInfo) hand(shared partFlags) (mustCopy bool) {
	handed := shared << toHanded
	for {
		flags := n.flags.Load()
		if flags&shared != 0 {
			return true
		}
		if flags&handed != 0 || n.flags.CompareAndSwap(flags, flags|handed) {
			return false
		}
	}
}

// copyOnce returns what is in a place, and puts a copy of the original there first if there is nothing.
func copyOnce[Part any](place *atomic.Pointer[Part], original *Part, copyPart func(*Part) *Part) *Part {
	if part := place.Load(); part != nil {
		return part
	}
	place.CompareAndSwap(nil, copyPart(original))
	return place.Load()
}

// unshare reports whether a part is shared, and takes it that it no longer is.
func (n *NodeInfo) unshare(shared partFlags) bool {
	flags := n.flags.Load()
	if flags&shared == 0 {
		return false
	}
	n.flags.Store(flags &^ shared)
	return true
}

// takeBack returns the copy of a part that was handed out, which is then no longer a copy but the part itself; nil if there
// is none.
func takeBack[Part any](n *NodeInfo, place func(*givenParts) *atomic.Pointer[Part]) *Part {
	if given := n.given.Load(); given != nil {
		return place(given).Swap(nil)
	}
	return nil
}

// ownPods copies the lists of pods before one of them is taken out, in the order that a caller has given them. To add
// pods it is not needed: copies see only what was there before, and of all that share a list only one has room at the end
// of it.
func (n *NodeInfo) ownPods() {
	if n.flags.Load()&(sharedLists|handedLists) == 0 {
		return
	}
	n.flags.And(^(sharedLists | handedLists))
	lists := takeBack(n, listsOf)
	if lists == nil {
		lists = &n.podLists
	}
	n.podLists = *lists.copy()
}

func (n *NodeInfo) ownMaps() {
	if !n.unshare(sharedMaps) {
		return
	}
	if handed := takeBack(n, mapsOf); handed != nil {
		n.nodeMaps = *handed
		n.flags.Or(handedMaps)
		return
	}
	n.nodeMaps = *n.nodeMaps.copy()
}

// sums returns the sums over the pods. Once they were handed out as a copy, and changed after that, that copy is where
// they are, so that whoever holds it sees the change.
func (n *NodeInfo) sums() *nodeSums {
	if n.handedSums != nil {
		return n.handedSums
	}
	return &n.nodeSums
}

// ownSums returns the sums for them to be changed.
func (n *NodeInfo) ownSums() *nodeSums {
	if n.unshare(sharedSums) {
		if handed := takeBack(n, sumsOf); handed != nil {
			n.handedSums = handed
			n.flags.Or(handedSums)
		} else if n.requested.ScalarResources != nil {
			n.requested.ScalarResources = maps.Clone(n.requested.ScalarResources)
		}
	}
	return n.sums()
}

func (n *NodeInfo) setAllocatable(allocatable Resource) {
	n.unshare(sharedAllocatable)
	takeBack(n, allocatableOf)
	n.allocatable = allocatable
}

func (n *NodeInfo) setImages(images map[string]*fwk.ImageStateSummary) {
	n.unshare(sharedImages)
	takeBack(n, imagesOf)
	n.images = images
}

// Clone returns a copy with the same generation, whose later changes continue the same sequence of generations.
// Images are copied without the names of the nodes that have them. Any number of goroutines may make copies of one node
// info, or read it, at the same time.
func (n *NodeInfo) Clone() *NodeInfo {
	var handed partFlags
	for {
		flags := n.flags.Load()
		handed = flags >> toHanded & sharedAll
		if now := flags | sharedAll&^handed; now == flags || n.flags.CompareAndSwap(flags, now) {
			break
		}
	}
	clone := &NodeInfo{nodeState: n.nodeState}
	clone.podLists = clone.podLists.clipped()
	clone.copyParts(handed, n)
	clone.flags.Store(sharedAll &^ handed)
	if given := n.given.Load(); given != nil && n.flags.Load()&frozen == 0 {
		clone.copyGiven(given)
	}
	for _, state := range clone.images {
		if state.Nodes != nil {
			images := make(map[string]*fwk.ImageStateSummary, len(clone.images))
			for name, state := range clone.images {
				images[name] = snapshotImage(state)
			}
			clone.images = images
			break
		}
	}
	return clone
}

// copyParts copies the parts of another node info that it has handed out.
func (n *NodeInfo) copyParts(parts partFlags, from *NodeInfo) {
	if parts&sharedLists != 0 {
		n.podLists = *from.podLists.copy()
	}
	if parts&sharedMaps != 0 {
		n.nodeMaps = *from.nodeMaps.copy()
	}
	if parts&sharedSums != 0 {
		n.nodeSums, n.handedSums = *from.sums().copy(), nil
	}
	if parts&sharedAllocatable != 0 {
		n.allocatable = *from.allocatable.Clone()
	}
	if parts&sharedImages != 0 {
		n.images = *copyImages(&from.images)
	}
}

// copyGiven copies the parts of another node info of which it has handed out copies, with what became of these.
func (n *NodeInfo) copyGiven(given *givenParts) {
	var copied partFlags
	if lists := given.lists.Load(); lists != nil {
		n.podLists, copied = *lists.copy(), copied|sharedLists
	}
	if maps := given.maps.Load(); maps != nil {
		n.nodeMaps, copied = *maps.copy(), copied|sharedMaps
	}
	if sums := given.sums.Load(); sums != nil {
		n.nodeSums, copied = *sums.copy(), copied|sharedSums
	}
	if allocatable := given.allocatable.Load(); allocatable != nil {
		n.allocatable, copied = *allocatable.Clone(), copied|sharedAllocatable
	}
	if images := given.images.Load(); images != nil {
		n.images, copied = *copyImages(images), copied|sharedImages
	}
	n.flags.And(^copied)
}

// snapshotImage copies a live image state; one that is a copy already has no node names and is shared.
func snapshotImage(state *fwk.ImageStateSummary) *fwk.ImageStateSummary {
	if state.Nodes == nil {
		return state
	}
	return state.Snapshot()
}

// Snapshot implements fwk.NodeInfo; it is [NodeInfo.Clone].
func (n *NodeInfo) Snapshot() fwk.NodeInfo { return n.Clone() }

// Freeze sets the images, which are kept, not copied, and ends the changes of n: it may then be read and copied by several
// goroutines, and changes go into its [NodeInfo.Successor]. To set images this way counts as no change.
func (n *NodeInfo) Freeze(images map[string]*fwk.ImageStateSummary) {
	n.setImages(images)
	if handed := n.flags.Load() >> toHanded & sharedAll &^ sharedImages; handed != 0 {
		n.copyParts(handed, n) // whoever has the old ones keeps them
	}
	n.flags.Store(sharedAll | frozen)
}

// Successor returns a copy of a frozen node info that is changed in its place. Only one may be made of a node info: unlike
// a clone it adds pods at the end of the list that both share, where there is room for them.
func (n *NodeInfo) Successor() *NodeInfo {
	successor := &NodeInfo{nodeState: n.nodeState}
	successor.flags.Store(sharedAll)
	return successor
}

// GetPods implements fwk.NodeInfo.
func (n *NodeInfo) GetPods() []fwk.PodInfo { return slices.Clip(n.callersLists().pods) }

// GetPodsWithAffinity implements fwk.NodeInfo.
func (n *NodeInfo) GetPodsWithAffinity() []fwk.PodInfo {
	return slices.Clip(n.callersLists().podsWithAffinity)
}

// GetPodsWithRequiredAntiAffinity implements fwk.NodeInfo.
func (n *NodeInfo) GetPodsWithRequiredAntiAffinity() []fwk.PodInfo {
	return slices.Clip(n.callersLists().podsWithRequiredAntiTerms)
}

func (n *NodeInfo) callersLists() *podLists {
	if len(n.pods) == 0 || !n.hand(sharedLists) {
		return &n.podLists
	}
	return copyOnce(&n.givenParts().lists, &n.podLists, (*podLists).copy)
}

// GetPodsWithRequiredNonHostScopedAntiAffinity implements fwk.NodeInfo. It is always empty: it serves an alpha
// feature that is off.
func (n *NodeInfo) GetPodsWithRequiredNonHostScopedAntiAffinity() []fwk.PodInfo { return nil }

// GetUsedPorts implements fwk.NodeInfo.
func (n *NodeInfo) GetUsedPorts() fwk.HostPortInfo { return n.callersMaps().usedPorts }

// GetPVCRefCounts implements fwk.NodeInfo.
func (n *NodeInfo) GetPVCRefCounts() map[string]int { return n.callersMaps().claims }

func (n *NodeInfo) callersMaps() *nodeMaps {
	if n.usedPorts == nil && n.claims == nil || !n.hand(sharedMaps) {
		return &n.nodeMaps
	}
	return copyOnce(&n.givenParts().maps, &n.nodeMaps, (*nodeMaps).copy)
}

// GetRequested implements fwk.NodeInfo.
func (n *NodeInfo) GetRequested() fwk.Resource { return &n.callersSums().requested }

// GetNonZeroRequested implements fwk.NodeInfo.
func (n *NodeInfo) GetNonZeroRequested() fwk.Resource { return &n.callersSums().nonZeroRequested }

func (n *NodeInfo) callersSums() *nodeSums {
	if !n.hand(sharedSums) {
		return n.sums()
	}
	return copyOnce(&n.givenParts().sums, n.sums(), (*nodeSums).copy)
}

// GetAllocatable implements fwk.NodeInfo.
func (n *NodeInfo) GetAllocatable() fwk.Resource {
	if !n.hand(sharedAllocatable) {
		return &n.allocatable
	}
	return copyOnce(&n.givenParts().allocatable, &n.allocatable, (*Resource).Clone)
}

// GetImageStates implements fwk.NodeInfo.
func (n *NodeInfo) GetImageStates() map[string]*fwk.ImageStateSummary {
	if len(n.images) == 0 || !n.hand(sharedImages) {
		return n.images
	}
	return *copyOnce(&n.givenParts().images, &n.images, copyImages)
}
