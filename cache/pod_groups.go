// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"errors"

	v1 "k8s.io/api/core/v1"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	fwk "k8s.io/kube-scheduler/framework"
)

// NoPodGroups is what a scheduler without pod groups answers to plugins that ask for them: every lookup is an error
// that says so. Pod groups belong to features that are off by default (GenericWorkload, CompositePodGroup).
type NoPodGroups struct{}

var _ fwk.PodGroupManager = NoPodGroups{}

func errPodGroups() error { return errors.New("generic workload feature gate is disabled") }

func errCompositePodGroups() error { return errors.New("composite pod group feature gate is disabled") }

// PodGroups implements fwk.PodGroupManager.
func (NoPodGroups) PodGroups() fwk.PodGroupLister { return noPodGroupLister{} }

// PodGroupStates implements fwk.PodGroupManager.
func (NoPodGroups) PodGroupStates() fwk.PodGroupStateLister { return noPodGroupStateLister{} }

// CompositePodGroups implements fwk.PodGroupManager.
func (NoPodGroups) CompositePodGroups() fwk.CompositePodGroupLister { return noCompositeLister{} }

// CompositePodGroupStates implements fwk.PodGroupManager.
func (NoPodGroups) CompositePodGroupStates() fwk.CompositePodGroupStateLister {
	return noCompositeStateLister{}
}

// BuildHierarchySnapshotFromPod implements fwk.PodGroupManager.
func (NoPodGroups) BuildHierarchySnapshotFromPod(*v1.Pod) (fwk.PodGroupManager, error) {
	return nil, errPodGroups()
}

// GetRootKeyForGroup implements fwk.PodGroupManager.
func (NoPodGroups) GetRootKeyForGroup(fwk.EntityKey) (fwk.EntityKey, bool, error) {
	return fwk.EntityKey{}, false, errPodGroups()
}

// PodGroups implements fwk.SharedLister; see [NoPodGroups].
func (s *Snapshot) PodGroups() fwk.PodGroupLister { return noPodGroupLister{} }

// PodGroupStates implements fwk.SharedLister; see [NoPodGroups].
func (s *Snapshot) PodGroupStates() fwk.PodGroupStateLister { return noPodGroupStateLister{} }

// CompositePodGroups implements fwk.SharedLister; see [NoPodGroups].
func (s *Snapshot) CompositePodGroups() fwk.CompositePodGroupLister { return noCompositeLister{} }

// CompositePodGroupStates implements fwk.SharedLister; see [NoPodGroups].
func (s *Snapshot) CompositePodGroupStates() fwk.CompositePodGroupStateLister {
	return noCompositeStateLister{}
}

type noPodGroupLister struct{}

// Get finds no pod group: there are none.
func (noPodGroupLister) Get(string, string) (*schedulingv1beta1.PodGroup, error) {
	return nil, errPodGroups()
}

type noPodGroupStateLister struct{}

// Get finds no state of a pod group: there are none.
func (noPodGroupStateLister) Get(string, string) (fwk.PodGroupState, error) {
	return nil, errPodGroups()
}

type noCompositeLister struct{}

// Get finds no composite pod group: there are none.
func (noCompositeLister) Get(string, string) (*schedulingv1alpha3.CompositePodGroup, error) {
	return nil, errCompositePodGroups()
}

type noCompositeStateLister struct{}

// Get finds no state of a composite pod group: there are none.
func (noCompositeStateLister) Get(string, string) (fwk.CompositePodGroupState, error) {
	return nil, errCompositePodGroups()
}
