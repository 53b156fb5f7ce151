// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"errors"
	"fmt"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
)

var _ fwk.MutableSnapshotSharedLister = mutableSnapshot{}

// Mutable returns the snapshot as plugins get it that want to try out changes. It shows the snapshot until
// StartMutations, and from then until EndMutations a fork of it, which AddPod and RemovePod change. The snapshot itself,
// and every other view of it, never shows a change: other plugins learn of it from the node infos, and by way of the
// PreFilter extensions, as in any dry run.
//
// There is one session at a time, whoever started it. One that is left open ends with the next [Cache.UpdateSnapshot].
// Node infos that the view returns in a session belong to the session, and may be changed too. It may be read by many
// goroutines, but not while it is being changed.
func (s *Snapshot) Mutable() fwk.MutableSnapshotSharedLister { return mutableSnapshot{snapshot: s} }

// mutableSnapshot is a view of a snapshot, with the changes of its session.
type mutableSnapshot struct {
	NoPodGroups
	snapshot *Snapshot
}

// mutations is a session.
type mutations struct {
	mu   sync.Mutex // guards what follows
	fork *Fork
	// complete is true once all nodes of the fork are its own.
	complete bool
}

// StartMutations implements fwk.MutableSnapshotSharedLister. It is an error if a session is open.
func (m mutableSnapshot) StartMutations() error {
	if !m.snapshot.session.CompareAndSwap(nil, &mutations{fork: m.snapshot.Fork()}) {
		return errors.New("starting mutations of a snapshot: cannot stack mutations; call EndMutations first")
	}
	return nil
}

// EndMutations implements fwk.MutableSnapshotSharedLister. It is an error if no session is open.
func (m mutableSnapshot) EndMutations() error {
	if m.snapshot.session.Swap(nil) == nil {
		return fmt.Errorf("ending mutations of a snapshot: %w", errNoSession())
	}
	return nil
}

func errNoSession() error {
	return errors.New("no mutation session started; call StartMutations first, in the same scheduling cycle")
}

// AddPod implements fwk.MutableSnapshotSharedLister. It is an error if no session is open, or there is no such node.
func (m mutableSnapshot) AddPod(info fwk.PodInfo, nodeName string) error {
	err := m.change(func(fork *Fork) error { return fork.addPod(info, nodeName) })
	if err != nil {
		return fmt.Errorf("adding pod %s to node %q of a mutable snapshot: %w", klog.KObj(info.GetPod()), nodeName, err)
	}
	return nil
}

// RemovePod implements fwk.MutableSnapshotSharedLister. It is an error if no session is open, there is no such node, or the
// pod is not on it.
func (m mutableSnapshot) RemovePod(_ klog.Logger, pod *v1.Pod, nodeName string) error {
	err := m.change(func(fork *Fork) error { return fork.removePod(pod, nodeName) })
	if err != nil {
		return fmt.Errorf("removing pod %s from node %q of a mutable snapshot: %w", klog.KObj(pod), nodeName, err)
	}
	return nil
}

func (m mutableSnapshot) change(change func(*Fork) error) error {
	session := m.snapshot.session.Load()
	if session == nil {
		return errNoSession()
	}
	session.mu.Lock()
	defer session.mu.Unlock()
	return change(session.fork)
}

// NodeInfos implements fwk.SharedLister.
func (m mutableSnapshot) NodeInfos() fwk.NodeInfoLister {
	if session := m.snapshot.session.Load(); session != nil {
		return mutableNodes{session}
	}
	return m.snapshot
}

// StorageInfos implements fwk.SharedLister.
func (m mutableSnapshot) StorageInfos() fwk.StorageInfoLister {
	if session := m.snapshot.session.Load(); session != nil {
		return mutableNodes{session}
	}
	return m.snapshot
}

// mutableNodes lists the nodes of a session, each as a copy that belongs to it.
type mutableNodes struct{ session *mutations }

// Get implements fwk.NodeInfoLister.
func (n mutableNodes) Get(nodeName string) (fwk.NodeInfo, error) {
	n.session.mu.Lock()
	defer n.session.mu.Unlock()
	node, err := n.session.fork.writable(nodeName)
	if err != nil {
		return nil, err
	}
	return node, nil
}

// complete has all nodes be the session's own, and returns its fork. It needs mu.
func (n mutableNodes) complete() *Fork {
	fork := n.session.fork
	if !n.session.complete {
		for name := range fork.snapshot.byName {
			_, _ = fork.writable(name) // which is there
		}
		n.session.complete = true
	}
	return fork
}

// List implements fwk.NodeInfoLister. It may be called while other goroutines change nodes of the session.
func (n mutableNodes) List() ([]fwk.NodeInfo, error) {
	n.session.mu.Lock()
	defer n.session.mu.Unlock()
	return n.complete().List()
}

// HavePodsWithAffinityList implements fwk.NodeInfoLister. It reads all nodes.
func (n mutableNodes) HavePodsWithAffinityList() ([]fwk.NodeInfo, error) {
	n.session.mu.Lock()
	defer n.session.mu.Unlock()
	return n.complete().HavePodsWithAffinityList()
}

// HavePodsWithRequiredAntiAffinityList implements fwk.NodeInfoLister. It reads all nodes.
func (n mutableNodes) HavePodsWithRequiredAntiAffinityList() ([]fwk.NodeInfo, error) {
	n.session.mu.Lock()
	defer n.session.mu.Unlock()
	return n.complete().HavePodsWithRequiredAntiAffinityList()
}

// HavePodsWithRequiredNonHostScopedAntiAffinityList implements fwk.NodeInfoLister. It is always empty, as that of the
// snapshot.
func (n mutableNodes) HavePodsWithRequiredNonHostScopedAntiAffinityList() ([]fwk.NodeInfo, error) {
	return nil, nil
}

// IsPVCUsedByPods implements fwk.StorageInfoLister.
func (n mutableNodes) IsPVCUsedByPods(key string) bool {
	n.session.mu.Lock()
	defer n.session.mu.Unlock()
	return n.session.fork.IsPVCUsedByPods(key)
}

// addPod puts a pod on a node, whatever its spec says.
func (f *Fork) addPod(info fwk.PodInfo, nodeName string) error {
	node, err := f.writable(nodeName)
	if err != nil {
		return err
	}
	node.AddPodInfo(info)
	f.forgetLists()
	f.count(info.GetPod(), 1)
	return nil
}

// removePod takes a pod from a node, whatever its spec says.
func (f *Fork) removePod(pod *v1.Pod, nodeName string) error {
	node, err := f.writable(nodeName)
	if err == nil {
		err = node.RemovePod(klog.Logger{}, pod)
	}
	if err != nil {
		return err
	}
	f.forgetLists()
	f.count(pod, -1)
	return nil
}
