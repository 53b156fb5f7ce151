// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"fmt"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

var (
	_ fwk.SharedLister      = &Fork{}
	_ fwk.NodeInfoLister    = &Fork{}
	_ fwk.StorageInfoLister = &Fork{}
)

// Fork is a snapshot with changes that no other reader sees, to try out what they would lead to. Making one costs
// the same however large the cluster is, and so does a change to a node; only the lists, where they are asked for after a
// change, are made again. Forks can be forked again.
//
// What a fork was made of, be it a snapshot or a fork, must not change for as long as the fork is in use. Under that
// condition forks are independent: each may be changed by a goroutine of its own, and one that is not being changed may
// be read by many.
type Fork struct {
	NoPodGroups
	snapshot *Snapshot
	parent   *Fork // nil for a fork of the snapshot itself
	// changed are the nodes with other pods than in the parent, claims how many more references there are to each.
	changed map[string]*framework.NodeInfo
	claims  map[string]int

	mu    sync.Mutex
	lists forkLists // guarded by mu
}

// forkLists are the lists of a fork that were asked for; nil the others.
type forkLists struct {
	all    []fwk.NodeInfo
	byPods *listsByPods
}

// listsByPods are the nodes with a pod that has affinity or anti-affinity, or required anti-affinity.
type listsByPods struct{ affinity, antiAffinity []fwk.NodeInfo }

// Fork returns a fork of the snapshot.
func (s *Snapshot) Fork() *Fork { return &Fork{snapshot: s} }

// Fork returns a fork of the fork.
func (f *Fork) Fork() *Fork { return &Fork{snapshot: f.snapshot, parent: f} }

// AddPod puts a pod on the node that it names. It is an error if there is no such node.
func (f *Fork) AddPod(pod *v1.Pod) error {
	info, _ := framework.NewPodInfo(pod) // terms that don't parse are left out
	if err := f.addPod(info, pod.Spec.NodeName); err != nil {
		return fmt.Errorf("adding pod %s to a fork: %w", klog.KObj(pod), err)
	}
	return nil
}

// RemovePod takes a pod from the node that it names. It is an error if there is no such node, or the pod is not on it.
func (f *Fork) RemovePod(pod *v1.Pod) error {
	if err := f.removePod(pod, pod.Spec.NodeName); err != nil {
		return fmt.Errorf("removing pod %s from a fork: %w", klog.KObj(pod), err)
	}
	return nil
}

// writable returns the fork's own copy of a node, for it to change.
func (f *Fork) writable(nodeName string) (*framework.NodeInfo, error) {
	if node, ok := f.changed[nodeName]; ok {
		return node, nil
	}
	node, err := f.find(nodeName)
	if err != nil {
		return nil, err
	}
	if f.changed == nil {
		f.changed = map[string]*framework.NodeInfo{}
	}
	f.changed[nodeName] = node.Clone()
	f.forgetLists()
	return f.changed[nodeName], nil
}

// forgetLists has the lists made again the next time.
func (f *Fork) forgetLists() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lists = forkLists{}
}

func (f *Fork) find(nodeName string) (*framework.NodeInfo, error) {
	for at := f; at != nil; at = at.parent {
		if node, ok := at.changed[nodeName]; ok {
			return node, nil
		}
	}
	node, ok := f.snapshot.byName[nodeName]
	if !ok {
		return nil, unknownNode(nodeName)
	}
	return node.info, nil
}

// count notes that there are more references to the claims of a pod, or fewer.
func (f *Fork) count(pod *v1.Pod, change int) {
	for i := range pod.Spec.Volumes {
		if source := pod.Spec.Volumes[i].PersistentVolumeClaim; source != nil {
			if f.claims == nil {
				f.claims = map[string]int{}
			}
			f.claims[pod.Namespace+"/"+source.ClaimName] += change
		}
	}
}

// NodeInfos implements fwk.SharedLister.
func (f *Fork) NodeInfos() fwk.NodeInfoLister { return f }

// StorageInfos implements fwk.SharedLister.
func (f *Fork) StorageInfos() fwk.StorageInfoLister { return f }

// IsPVCUsedByPods implements fwk.StorageInfoLister, as [Snapshot.IsPVCUsedByPods].
func (f *Fork) IsPVCUsedByPods(key string) bool {
	count := f.snapshot.claims[key]
	for at := f; at != nil; at = at.parent {
		count += at.claims[key]
	}
	return count > 0
}

// Get implements fwk.NodeInfoLister. It is an error if there is no such node.
func (f *Fork) Get(nodeName string) (fwk.NodeInfo, error) {
	node, err := f.find(nodeName)
	if err != nil {
		return nil, err
	}
	return node, nil
}

// List implements fwk.NodeInfoLister, in the order of [Snapshot.List]. It never fails, and reads none of the nodes.
func (f *Fork) List() ([]fwk.NodeInfo, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lists.all == nil {
		f.lists.all, _ = f.nodes()
	}
	return f.lists.all, nil
}

// HavePodsWithAffinityList implements fwk.NodeInfoLister, as [Snapshot.HavePodsWithAffinityList].
func (f *Fork) HavePodsWithAffinityList() ([]fwk.NodeInfo, error) {
	return f.listedByPods().affinity, nil
}

// HavePodsWithRequiredAntiAffinityList implements fwk.NodeInfoLister, as
// [Snapshot.HavePodsWithRequiredAntiAffinityList].
func (f *Fork) HavePodsWithRequiredAntiAffinityList() ([]fwk.NodeInfo, error) {
	return f.listedByPods().antiAffinity, nil
}

// HavePodsWithRequiredNonHostScopedAntiAffinityList implements fwk.NodeInfoLister. It is always empty, as that of the
// snapshot.
func (f *Fork) HavePodsWithRequiredNonHostScopedAntiAffinityList() ([]fwk.NodeInfo, error) {
	return nil, nil
}

// nodes returns a list of all nodes, and whether any of them is not as in the snapshot. The list belongs to the fork alone, so
// that what callers do to those of others does not matter.
func (f *Fork) nodes() (nodes []fwk.NodeInfo, changed bool) {
	s := f.snapshot
	nodes = slices.Clone(s.list.nodes)
	for _, fork := range slices.Backward(f.ancestry()) {
		for name, node := range fork.changed {
			nodes[s.byName[name].position] = node
			changed = true
		}
	}
	return nodes, changed
}

// listedByPods returns the nodes that have certain pods, making the lists if need be.
func (f *Fork) listedByPods() *listsByPods {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lists.byPods != nil {
		return f.lists.byPods
	}
	f.lists.byPods = &listsByPods{}
	lists, s := f.lists.byPods, f.snapshot
	nodes, changed := f.nodes()
	if !changed {
		lists.affinity, lists.antiAffinity = slices.Clone(s.affinity.nodes.nodes), slices.Clone(s.antiAffinity.nodes.nodes)
		return lists
	}
	for _, node := range nodes {
		if len(framework.View(node).PodsWithAffinity()) > 0 {
			lists.affinity = append(lists.affinity, node)
		}
		if len(framework.View(node).PodsWithRequiredAntiAffinity()) > 0 {
			lists.antiAffinity = append(lists.antiAffinity, node)
		}
	}
	return lists
}

// ancestry returns the fork and those that it was made of, the latest first.
func (f *Fork) ancestry() (forks []*Fork) {
	for at := f; at != nil; at = at.parent {
		forks = append(forks, at)
	}
	return forks
}
