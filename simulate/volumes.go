// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/rouse-scheduler/rouse/internal/volumes"
)

// This file has the store do what the controllers of volumes do in a cluster. It does so inside of the request that gives a
// reason to, so that a scheduler that waits for a claim to be bound finds it bound.

func (s *store) claims() *collection {
	return s.of(v1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"))
}

func (s *store) volumes() *collection {
	return s.of(v1.SchemeGroupVersion.WithKind("PersistentVolume"))
}

func (s *store) classes() *collection {
	return s.of(storagev1.SchemeGroupVersion.WithKind("StorageClass"))
}

// aboutVolumes reports whether a change of the kind can give a reason to bind a claim.
func (s *store) aboutVolumes(c *collection) bool {
	return c == s.claims() || c == s.volumes() || c == s.classes()
}

// bindClaims binds every claim that can be bound, in the order of their names.
func (s *store) bindClaims() {
	for _, found := range s.claims().sorted("") {
		volumes.Bind(storedVolumes{s}, found.(*v1.PersistentVolumeClaim))
	}
}

// storedVolumes is the store as the controllers of volumes see it.
type storedVolumes struct{ *store }

// Volumes implements volumes.Cluster.
func (s storedVolumes) Volumes() []*v1.PersistentVolume {
	var all []*v1.PersistentVolume
	for _, found := range s.volumes().sorted("") {
		all = append(all, found.(*v1.PersistentVolume))
	}
	return all
}

// Volume implements volumes.Cluster.
func (s storedVolumes) Volume(name string) *v1.PersistentVolume {
	found, _ := s.volumes().objects[name].(*v1.PersistentVolume)
	return found
}

// Class implements volumes.Cluster.
func (s storedVolumes) Class(name string) *storagev1.StorageClass {
	found, _ := s.classes().objects[name].(*storagev1.StorageClass)
	return found
}

// Node implements volumes.Cluster.
func (s storedVolumes) Node(name string) *v1.Node {
	found, _ := s.nodes().objects[name].(*v1.Node)
	return found
}

// CSINode implements volumes.Cluster.
func (s storedVolumes) CSINode(name string) *storagev1.CSINode {
	found, _ := s.of(storagev1.SchemeGroupVersion.WithKind("CSINode")).objects[name].(*storagev1.CSINode)
	return found
}

// CreateVolume implements volumes.Cluster.
func (s storedVolumes) CreateVolume(created *v1.PersistentVolume) error {
	_, err := s.create(s.volumes(), created)
	return err
}

// ReplaceVolume implements volumes.Cluster.
func (s storedVolumes) ReplaceVolume(before, updated *v1.PersistentVolume) {
	s.put(s.volumes(), before.Name, before, updated)
}

// ReplaceClaim implements volumes.Cluster.
func (s storedVolumes) ReplaceClaim(before, updated *v1.PersistentVolumeClaim) {
	s.put(s.claims(), keyOf(before.Namespace, before.Name), before, updated)
}
