// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"fmt"
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
	refused  func(method, node string)
}

// OnRefusedChange has a function called, concurrently, whenever a plugin tries to change a node info of this cluster view
// that is frozen, with the method and the name of the node. It must be called before there are node infos.
func (g *Generations) OnRefusedChange(refused func(method, node string)) { g.refused = refused }

// NewNodeInfo returns an empty node info that takes its generations from g.
func (g *Generations) NewNodeInfo() *NodeInfo {
	n := &NodeInfo{}
	n.generations = g
	n.bumpGeneration()
	return n
}

// NodeInfo is a node and the sums over the pods on it, so that no plugin has to walk the pods. The zero value is an
// empty one with generations of its own. It is not safe for concurrent changes.
//
// Copies made by [NodeInfo.Clone] share everything with the original until one of the two changes it, so that a copy costs
// the same however many pods there are; so does a [NodeInfo.Successor]. Slices, maps and resources that the methods of
// fwk.NodeInfo return belong to this node info alone, and are copied for it when they are first asked for: whoever got
// them may sort, change and keep them, and only those that hold the same node info see it. Code that only reads saves the
// copies with [View].
//
// One that is frozen, as those of snapshots are, does not change: methods that would change it do nothing, except that
// RemovePod returns an error. Change a copy, which Snapshot returns.
type NodeInfo struct {
	nodeState
	// flags has a bit for each part that is shared, and for each that was handed out; see [partFlags].
	flags atomic.Uint32
	// given has the copies of shared parts that were handed out; nil for most.
	given atomic.Pointer[givenParts]
}

// nodeState is what copies of a node info start with.
type nodeState struct {
	podLists
	nodeMaps
	nodeSums
	// handedSums takes the place of nodeSums once it is not nil.
	handedSums  *nodeSums
	allocatable Resource
	node        *v1.Node
	images      map[string]*fwk.ImageStateSummary
	features    ndf.FeatureSet
	generations *Generations
	generation  int64
}

// NewNodeInfo returns a node info with the given pods and no node, with generations of its own. Affinity terms that
// do not parse are left out.
func NewNodeInfo(pods ...*v1.Pod) *NodeInfo {
	n := new(Generations).NewNodeInfo()
	for _, pod := range pods {
		n.AddPod(pod)
	}
	return n
}

// refuses reports whether n is frozen and thus does not change, and tells whoever wants to know of the attempt.
func (n *NodeInfo) refuses(method string) bool {
	if n.flags.Load()&frozen == 0 {
		return false
	}
	if n.generations != nil && n.generations.refused != nil {
		n.generations.refused(method, n.nameOfNode())
	}
	return true
}

func (n *NodeInfo) nameOfNode() string {
	if n.node == nil {
		return "(unknown)"
	}
	return n.node.Name
}

func (n *NodeInfo) bumpGeneration() {
	if n.generations == nil {
		n.generations = new(Generations)
	}
	n.generation = n.generations.last.Add(1)
}

// SetNode implements fwk.NodeInfo: it sets the node object, which may not be nil, and what follows from it.
func (n *NodeInfo) SetNode(node *v1.Node) {
	if n.refuses("SetNode") {
		return
	}
	n.node = node
	n.setAllocatable(*NewResource(node.Status.Allocatable))
	n.features = ndf.DefaultFramework.TryMap(node.Status.DeclaredFeatures)
	n.bumpGeneration()
}

// RemoveNode takes the node object away and keeps the pods, as when a node is deleted before its pods are.
func (n *NodeInfo) RemoveNode() {
	if n.refuses("RemoveNode") {
		return
	}
	n.node = nil
	n.setAllocatable(Resource{})
	n.features = ndf.FeatureSet{}
	n.setImages(nil)
	n.bumpGeneration()
}

// SetImageStates replaces the images on the node; the map is kept, not copied.
func (n *NodeInfo) SetImageStates(images map[string]*fwk.ImageStateSummary) {
	if n.refuses("SetImageStates") {
		return
	}
	n.setImages(images)
	n.bumpGeneration()
}

// AddPod adds a pod. Affinity terms that do not parse are left out.
func (n *NodeInfo) AddPod(pod *v1.Pod) {
	info, _ := NewPodInfo(pod)
	n.AddPodInfo(info)
}

// AddPodInfo implements fwk.NodeInfo.
func (n *NodeInfo) AddPodInfo(info fwk.PodInfo) {
	if n.refuses("AddPodInfo") {
		return
	}
	if given := n.given.Load(); given != nil && given.lists.Load() != nil {
		n.ownPods()
	}
	n.pods = appendPod(n.pods, info)
	if hasAffinity(ViewPod(info).affinity()) {
		n.podsWithAffinity = appendPod(n.podsWithAffinity, info)
	}
	if len(info.GetRequiredAntiAffinityTerms()) > 0 {
		n.podsWithRequiredAntiTerms = appendPod(n.podsWithRequiredAntiTerms, info)
	}
	n.account(info, 1)
	n.bumpGeneration()
}

// RemovePod implements fwk.NodeInfo. It finds the pod by UID, namespace and name, and fails, changing nothing, when it is
// not there. A host port that two pods name is free as soon as one of them is removed.
func (n *NodeInfo) RemovePod(_ klog.Logger, pod *v1.Pod) error {
	if n.refuses("RemovePod") {
		return fmt.Errorf("removing pod %s/%s: the node info of node %s is shared with others; change a copy, which Snapshot returns", pod.Namespace, pod.Name, n.nameOfNode())
	}
	i := indexOfPod(n.pods, pod)
	if i < 0 {
		return fmt.Errorf("no pod %s/%s with UID %q on node %s", pod.Namespace, pod.Name, pod.UID, n.nameOfNode())
	}
	info := n.pods[i]
	n.ownPods()
	n.pods = removeAt(n.pods, i)
	n.podsWithAffinity = removeAt(n.podsWithAffinity, indexOfPod(n.podsWithAffinity, pod))
	n.podsWithRequiredAntiTerms = removeAt(n.podsWithRequiredAntiTerms, indexOfPod(n.podsWithRequiredAntiTerms, pod))
	n.account(info, -1)
	n.bumpGeneration()
	return nil
}

// account adds (sign 1) or takes away (sign -1) what a pod uses of the node.
func (n *NodeInfo) account(info fwk.PodInfo, sign int64) {
	if own, ok := info.(*PodInfo); ok && n.generations != nil {
		n.generations.requests.intern(own)
	}
	use := readRequests(info)
	sums := n.ownSums()
	if vector, ok := use.Resource.(*Resource); ok {
		sums.requested.addRequests(vector, sign)
	} else {
		sums.requested.addRequests(copyResource(use.Resource), sign)
	}
	sums.nonZeroRequested.MilliCPU += sign * use.Non0CPU
	sums.nonZeroRequested.Memory += sign * use.Non0Mem
	pod := ViewPod(info)
	for _, port := range hostPorts(pod.spec()) {
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
	for i, volumes := 0, pod.Volumes(); i < len(volumes); i++ {
		if source := volumes[i].PersistentVolumeClaim; source != nil {
			n.countClaim(pod.Meta().Namespace+"/"+source.ClaimName, int(sign))
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

// String implements fwk.NodeInfo.
func (n *NodeInfo) String() string {
	name := "(no node)"
	if n.node != nil {
		name = n.node.Name
	}
	names := make([]string, len(n.pods))
	for i, info := range n.pods {
		meta := ViewPod(info).Meta()
		names[i] = meta.Namespace + "/" + meta.Name
	}
	return fmt.Sprintf("node %s, generation %d, requested %+v, allocatable %+v, ports %v, pods %v",
		name, n.generation, n.sums().requested, n.allocatable, n.usedPorts, names)
}

// Node implements fwk.NodeInfo; nil while only pods of the node are known.
func (n *NodeInfo) Node() *v1.Node {
	if n == nil {
		return nil
	}
	return n.node
}

// GetGeneration implements fwk.NodeInfo.
func (n *NodeInfo) GetGeneration() int64 { return n.generation }

// GetNodeDeclaredFeatures implements fwk.NodeInfo.
func (n *NodeInfo) GetNodeDeclaredFeatures() ndf.FeatureSet { return n.features }

// indexOfPod looks from the end: what goes again soon has come last, and to compare a pod is to fetch it into the cache.
func indexOfPod(pods []fwk.PodInfo, pod *v1.Pod) int {
	for i, info := range slices.Backward(pods) {
		if info == nil { // a caller made it so in a list of its own
			continue
		}
		if other := ViewPod(info).Meta(); other.UID == pod.UID && other.Name == pod.Name && other.Namespace == pod.Namespace {
			return i
		}
	}
	return -1
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
