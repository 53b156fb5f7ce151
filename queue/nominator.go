// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"maps"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	listersv1 "k8s.io/client-go/listers/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

var _ fwk.PodNominator = &Nominator{}

// Nominator knows which pods are to get a node once it has room, usually because others were evicted for them. A pod
// has one nomination at most. It has a lock of its own, and so is safe for concurrent use, by plugins in the middle of
// a scheduling cycle too.
type Nominator struct {
	// pods is nil if the pods given are to be trusted.
	pods listersv1.PodLister

	mu     sync.RWMutex
	byNode map[string][]fwk.PodInfo
	nodeOf map[types.UID]string
}

// NewNominator returns a Nominator without nominations. If pods is not nil, then a pod is only nominated as long as the
// lister has it and has it without a node.
func NewNominator(pods listersv1.PodLister) *Nominator {
	return &Nominator{pods: pods, byNode: map[string][]fwk.PodInfo{}, nodeOf: map[types.UID]string{}}
}

// AddNominatedPod nominates a pod, in place of an earlier nomination of it: for the node that info says if it says to
// override (none if the name is empty), otherwise for the node in the status of the pod. info may be nil.
func (n *Nominator) AddNominatedPod(logger klog.Logger, pod fwk.PodInfo, info *fwk.NominatingInfo) {
	node := pod.GetPod().Status.NominatedNodeName
	if info.Mode() == fwk.ModeOverride {
		node = info.NominatedNodeName
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.delete(pod.GetPod().UID)
	n.add(logger, pod, node)
}

// UpdateNominatedPod takes over a newer version of a pod, which may be another pod of the same name. A nomination that
// was never written to the status of the pod is kept if the update does not bring one.
func (n *Nominator) UpdateNominatedPod(logger klog.Logger, oldPod *v1.Pod, newPod fwk.PodInfo) {
	node := newPod.GetPod().Status.NominatedNodeName
	n.mu.Lock()
	defer n.mu.Unlock()
	if node == "" && oldPod.Status.NominatedNodeName == "" {
		node = n.nodeOf[oldPod.UID]
	}
	n.delete(oldPod.UID)
	n.delete(newPod.GetPod().UID)
	n.add(logger, newPod, node)
}

// DeleteNominatedPodIfExists withdraws the nomination of a pod, if it has one.
func (n *Nominator) DeleteNominatedPodIfExists(pod *v1.Pod) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.delete(pod.UID)
}

// NominatedPodsForNode returns the pods nominated for a node, in the order in which they were nominated; never nil. The
// slice is the caller's, the pods are shared and must not be changed.
func (n *Nominator) NominatedPodsForNode(node string) []fwk.PodInfo {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return append([]fwk.PodInfo{}, n.byNode[node]...)
}

// NominatedNodes returns the names of the nodes that pods are nominated for, in no particular order; nil if there is
// none.
func (n *Nominator) NominatedNodes() []string {
	n.mu.RLock()
	defer n.mu.RUnlock()
	if len(n.byNode) == 0 {
		return nil
	}
	return slices.Collect(maps.Keys(n.byNode))
}

// add nominates a pod that is not nominated, unless the name of the node is empty; it needs the lock. The lock is held
// over the look at the lister, so that a pod that gets a node meanwhile is withdrawn after it was added, not before.
func (n *Nominator) add(logger klog.Logger, pod fwk.PodInfo, node string) {
	if node == "" {
		return
	}
	if !n.waiting(pod.GetPod()) {
		logger.V(4).Info("Pod is gone or has a node, and is not nominated", "pod", klog.KObj(pod.GetPod()), "node", node)
		return
	}
	if queued, ok := pod.(*framework.QueuedPodInfo); ok {
		pod = queued.PodInfo // the record itself changes while it is queued
	}
	n.byNode[node] = append(n.byNode[node], pod)
	n.nodeOf[pod.GetPod().UID] = node
}

// waiting reports whether a pod exists and has no node yet.
func (n *Nominator) waiting(pod *v1.Pod) bool {
	if n.pods != nil {
		current, err := n.pods.Pods(pod.Namespace).Get(pod.Name)
		if err != nil || current.UID != pod.UID {
			return false
		}
		pod = current
	}
	return pod.Spec.NodeName == ""
}

// delete needs the lock.
func (n *Nominator) delete(uid types.UID) {
	node, ok := n.nodeOf[uid]
	if !ok {
		return
	}
	delete(n.nodeOf, uid)
	n.byNode[node] = slices.DeleteFunc(n.byNode[node], func(pod fwk.PodInfo) bool { return pod.GetPod().UID == uid })
	if len(n.byNode[node]) == 0 {
		delete(n.byNode, node)
	}
}
