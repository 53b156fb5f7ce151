// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	ndf "k8s.io/component-helpers/nodedeclaredfeatures"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
)

var _ fwk.NodeInfo = &NodeInfo{}

// Generations hands out the generation numbers of the node infos of one cluster view: every change of any of them
// gets a larger number than every change before it. The zero value is ready. It is safe for concurrent use.
type Generations struct {
	last     atomic.Int64
	requests sharedRequests
}

// NewNodeInfo returns an empty node info that takes its generations from g.
func (g *Generations) NewNodeInfo() *NodeInfo {
	n := &NodeInfo{generations: g}
	n.touch()
	return n
}

// NodeInfo is a node and the sums over the pods on it, so that no plugin has to walk the pods. The zero value is an
// empty one with generations of its own. It is not safe for concurrent changes.
//
// Copies made by [NodeInfo.Clone] share everything with the original until one of the two changes it, so that a copy costs
// the same however many pods there are; so does a [NodeInfo.Successor]. Slices and maps that the methods return must not be
// changed for that reason.
type NodeInfo struct {
	node                      *v1.Node
	pods                      []fwk.PodInfo
	podsWithAffinity          []fwk.PodInfo
	podsWithRequiredAntiTerms []fwk.PodInfo
	usedPorts                 fwk.HostPortInfo
	requested                 Resource
	nonZeroRequested          Resource
	allocatable               Resource
	images                    map[string]*fwk.ImageStateSummary
	claims                    map[string]int
	features                  ndf.FeatureSet
	generations               *Generations
	generation                int64
	// shared tells which parts belong to other node infos too, as bits; it is accessed atomically, because a node info
	// may be copied by several goroutines.
	shared uint32
}

// The parts of a node info that copies share.
const (
	sharedPods   uint32 = 1 << iota // of which copies see as many as there were when they were made
	sharedMaps                      // ports and claims
	sharedScalar                    // resources
	sharedAll    = sharedPods | sharedMaps | sharedScalar
)

// NewNodeInfo returns a node info with the given pods and no node, with generations of its own. Affinity terms that
// do not parse are left out.
func NewNodeInfo(pods ...*v1.Pod) *NodeInfo {
	n := new(Generations).NewNodeInfo()
	for _, pod := range pods {
		n.AddPod(pod)
	}
	return n
}

func (n *NodeInfo) touch() {
	if n.generations == nil {
		n.generations = new(Generations)
	}
	n.generation = n.generations.last.Add(1)
}

// SetNode implements fwk.NodeInfo: it sets the node object, which may not be nil, and what follows from it.
func (n *NodeInfo) SetNode(node *v1.Node) {
	n.node = node
	n.allocatable = *NewResource(node.Status.Allocatable)
	n.features = ndf.DefaultFramework.TryMap(node.Status.DeclaredFeatures)
	n.touch()
}

// RemoveNode takes the node object away and keeps the pods, as when a node is deleted before its pods are.
func (n *NodeInfo) RemoveNode() {
	n.node = nil
	n.allocatable = Resource{}
	n.features = ndf.FeatureSet{}
	n.images = nil
	n.touch()
}

// SetImageStates replaces the images on the node; the map is kept, not copied.
func (n *NodeInfo) SetImageStates(images map[string]*fwk.ImageStateSummary) {
	n.images = images
	n.touch()
}

// AddPod adds a pod. Affinity terms that do not parse are left out.
func (n *NodeInfo) AddPod(pod *v1.Pod) {
	info, _ := NewPodInfo(pod)
	n.AddPodInfo(info)
}

// AddPodInfo implements fwk.NodeInfo.
func (n *NodeInfo) AddPodInfo(info fwk.PodInfo) {
	n.pods = appendPod(n.pods, info)
	if hasAffinity(info.GetPod()) {
		n.podsWithAffinity = appendPod(n.podsWithAffinity, info)
	}
	if len(info.GetRequiredAntiAffinityTerms()) > 0 {
		n.podsWithRequiredAntiTerms = appendPod(n.podsWithRequiredAntiTerms, info)
	}
	n.account(info, 1)
	n.touch()
}

// RemovePod implements fwk.NodeInfo. It finds the pod by UID, namespace and name, and fails, changing nothing, when it is
// not there. A host port that two pods name is free as soon as one of them is removed.
func (n *NodeInfo) RemovePod(_ klog.Logger, pod *v1.Pod) error {
	i := indexOfPod(n.pods, pod)
	if i < 0 {
		name := "(unknown)"
		if n.node != nil {
			name = n.node.Name
		}
		return fmt.Errorf("no pod %s/%s with UID %q on node %s", pod.Namespace, pod.Name, pod.UID, name)
	}
	info := n.pods[i]
	n.ownPods()
	n.pods = removeAt(n.pods, i)
	n.podsWithAffinity = removeAt(n.podsWithAffinity, indexOfPod(n.podsWithAffinity, pod))
	n.podsWithRequiredAntiTerms = removeAt(n.podsWithRequiredAntiTerms, indexOfPod(n.podsWithRequiredAntiTerms, pod))
	n.account(info, -1)
	n.touch()
	return nil
}

// account adds (sign 1) or takes away (sign -1) what a pod uses of the node.
func (n *NodeInfo) account(info fwk.PodInfo, sign int64) {
	if own, ok := info.(*PodInfo); ok && n.generations != nil {
		n.generations.requests.give(own)
	}
	use := info.CalculateResource()
	if n.requested.ScalarResources != nil && n.disown(sharedScalar) {
		n.requested.ScalarResources = maps.Clone(n.requested.ScalarResources)
	}
	if vector, ok := use.Resource.(*Resource); ok {
		n.requested.addScaled(vector, sign)
	} else {
		n.requested.addScaled(copyResource(use.Resource), sign)
	}
	n.nonZeroRequested.MilliCPU += sign * use.Non0CPU
	n.nonZeroRequested.Memory += sign * use.Non0Mem
	pod := info.GetPod()
	for _, port := range HostPorts(pod) {
		n.ownMaps()
		if sign < 0 {
			n.usedPorts.Remove(port.HostIP, string(port.Protocol), port.HostPort)
			continue
		}
		if n.usedPorts == nil {
			n.usedPorts = fwk.HostPortInfo{}
		}
		n.usedPorts.Add(port.HostIP, string(port.Protocol), port.HostPort)
	}
	for i := range pod.Spec.Volumes {
		if source := pod.Spec.Volumes[i].PersistentVolumeClaim; source != nil {
			n.countClaim(pod.Namespace+"/"+source.ClaimName, int(sign))
		}
	}
}

func (n *NodeInfo) countClaim(key string, change int) {
	n.ownMaps()
	if n.claims == nil {
		n.claims = map[string]int{}
	}
	n.claims[key] += change
	if n.claims[key] <= 0 {
		delete(n.claims, key)
	}
}

// disown tells whether a part is shared, and takes it that it is copied now.
func (n *NodeInfo) disown(part uint32) bool {
	was := n.shared & part
	n.shared &^= part
	return was != 0
}

// ownPods copies the lists of pods before one of them is taken out. To add pods it is not needed: copies see only what
// was there before, and of all that share a list only one has room at the end of it.
func (n *NodeInfo) ownPods() {
	if n.disown(sharedPods) {
		n.pods = slices.Clone(n.pods)
		n.podsWithAffinity = slices.Clone(n.podsWithAffinity)
		n.podsWithRequiredAntiTerms = slices.Clone(n.podsWithRequiredAntiTerms)
	}
}

func (n *NodeInfo) ownMaps() {
	if !n.disown(sharedMaps) {
		return
	}
	n.claims = maps.Clone(n.claims)
	if n.usedPorts != nil {
		ports := make(fwk.HostPortInfo, len(n.usedPorts))
		for ip, used := range n.usedPorts {
			ports[ip] = maps.Clone(used)
		}
		n.usedPorts = ports
	}
}

// Clone returns a copy with the same generation, whose later changes continue the same sequence of generations.
// Images are copied without the names of the nodes that have them.
func (n *NodeInfo) Clone() *NodeInfo {
	if atomic.LoadUint32(&n.shared) != sharedAll {
		atomic.StoreUint32(&n.shared, sharedAll)
	}
	clone := *n
	clone.pods = slices.Clip(n.pods)
	clone.podsWithAffinity = slices.Clip(n.podsWithAffinity)
	clone.podsWithRequiredAntiTerms = slices.Clip(n.podsWithRequiredAntiTerms)
	for _, state := range n.images {
		if state.Nodes != nil {
			clone.images = make(map[string]*fwk.ImageStateSummary, len(n.images))
			for name, state := range n.images {
				clone.images[name] = snapshotImage(state)
			}
			break
		}
	}
	return &clone
}

// Freeze sets the images, which are kept, not copied, and ends the changes of n: it may then be read and copied by several
// goroutines, and changes go into its [NodeInfo.Successor]. To set images this way counts as no change.
func (n *NodeInfo) Freeze(images map[string]*fwk.ImageStateSummary) {
	n.images = images
	n.shared = sharedAll
}

// Successor returns a copy of a frozen node info that is changed in its place. Only one may be made of a node info: unlike
// a clone it adds pods at the end of the list that both share, where there is room for them.
func (n *NodeInfo) Successor() *NodeInfo {
	successor := *n
	return &successor
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

// String implements fwk.NodeInfo.
func (n *NodeInfo) String() string {
	name := "(no node)"
	if n.node != nil {
		name = n.node.Name
	}
	names := make([]string, len(n.pods))
	for i, info := range n.pods {
		names[i] = info.GetPod().Namespace + "/" + info.GetPod().Name
	}
	return fmt.Sprintf("node %s, generation %d, requested %+v, allocatable %+v, ports %v, pods %v",
		name, n.generation, n.requested, n.allocatable, n.usedPorts, names)
}

// Node implements fwk.NodeInfo; nil while only pods of the node are known.
func (n *NodeInfo) Node() *v1.Node {
	if n == nil {
		return nil
	}
	return n.node
}

// GetPods implements fwk.NodeInfo.
func (n *NodeInfo) GetPods() []fwk.PodInfo { return slices.Clip(n.pods) }

// GetPodsWithAffinity implements fwk.NodeInfo.
func (n *NodeInfo) GetPodsWithAffinity() []fwk.PodInfo { return slices.Clip(n.podsWithAffinity) }

// GetPodsWithRequiredAntiAffinity implements fwk.NodeInfo.
func (n *NodeInfo) GetPodsWithRequiredAntiAffinity() []fwk.PodInfo {
	return slices.Clip(n.podsWithRequiredAntiTerms)
}

// GetPodsWithRequiredNonHostScopedAntiAffinity implements fwk.NodeInfo. It is always empty: it serves an alpha
// feature that is off.
func (n *NodeInfo) GetPodsWithRequiredNonHostScopedAntiAffinity() []fwk.PodInfo { return nil }

// GetUsedPorts implements fwk.NodeInfo.
func (n *NodeInfo) GetUsedPorts() fwk.HostPortInfo { return n.usedPorts }

// GetRequested implements fwk.NodeInfo.
func (n *NodeInfo) GetRequested() fwk.Resource { return &n.requested }

// GetNonZeroRequested implements fwk.NodeInfo.
func (n *NodeInfo) GetNonZeroRequested() fwk.Resource { return &n.nonZeroRequested }

// GetAllocatable implements fwk.NodeInfo.
func (n *NodeInfo) GetAllocatable() fwk.Resource { return &n.allocatable }

// GetImageStates implements fwk.NodeInfo.
func (n *NodeInfo) GetImageStates() map[string]*fwk.ImageStateSummary { return n.images }

// GetPVCRefCounts implements fwk.NodeInfo.
func (n *NodeInfo) GetPVCRefCounts() map[string]int { return n.claims }

// GetGeneration implements fwk.NodeInfo.
func (n *NodeInfo) GetGeneration() int64 { return n.generation }

// GetNodeDeclaredFeatures implements fwk.NodeInfo.
func (n *NodeInfo) GetNodeDeclaredFeatures() ndf.FeatureSet { return n.features }

func indexOfPod(pods []fwk.PodInfo, pod *v1.Pod) int {
	return slices.IndexFunc(pods, func(info fwk.PodInfo) bool {
		other := info.GetPod()
		return other.UID == pod.UID && other.Name == pod.Name && other.Namespace == pod.Namespace
	})
}

// appendPod appends, and leaves room for a quarter more where there is none: of lists that double, a third is empty.
func appendPod(pods []fwk.PodInfo, pod fwk.PodInfo) []fwk.PodInfo {
	if len(pods) == cap(pods) {
		pods = append(make([]fwk.PodInfo, 0, len(pods)+len(pods)/4+2), pods...)
	}
	return append(pods, pod)
}

// removeAt moves the last element into place i; an index below zero changes nothing. An empty result is nil.
func removeAt(pods []fwk.PodInfo, i int) []fwk.PodInfo {
	if i < 0 {
		return pods
	}
	last := len(pods) - 1
	pods[i] = pods[last]
	pods[last] = nil
	if last == 0 {
		return nil
	}
	return pods[:last]
}

func copyResource(r fwk.Resource) *Resource {
	return &Resource{
		MilliCPU:         r.GetMilliCPU(),
		Memory:           r.GetMemory(),
		EphemeralStorage: r.GetEphemeralStorage(),
		ScalarResources:  r.GetScalarResources(),
	}
}
