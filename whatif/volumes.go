// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package whatif

import (
	"reflect"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/rouse-scheduler/rouse/internal/volumes"
)

// controllers is the replica as the controllers of volumes see it, which act on what PreBind writes: a claim is bound to the
// volume that was chosen for it, or gets one that is made for it.
type controllers struct{ *replica }

// act does what a change of a volume or a claim gives a reason to.
func (c controllers) act(changed object) {
	switch changed := changed.(type) {
	case *v1.PersistentVolumeClaim:
		volumes.Bind(c, changed)
	case *v1.PersistentVolume:
		if to := changed.Spec.ClaimRef; to != nil {
			if claim := lookUp[v1.PersistentVolumeClaim](c.replica, to.Namespace, to.Name); claim != nil {
				volumes.Bind(c, claim)
			}
		}
	}
}

// lookUp returns an object as informers have it, nil if there is none.
func lookUp[T any](r *replica, namespace, name string) *T {
	k := key{kind: r.kinds.byType[reflect.TypeFor[T]()], namespace: namespace, name: name}
	found, _, _ := r.informers[k.kind].Known().GetByKey(k.storeKey())
	typed, _ := found.(*T)
	return typed
}

// Volumes implements volumes.Cluster.
func (c controllers) Volumes() []*v1.PersistentVolume {
	var all []*v1.PersistentVolume
	for _, known := range c.informers[c.kinds.byType[reflect.TypeFor[v1.PersistentVolume]()]].Known().List() {
		all = append(all, known.(*v1.PersistentVolume))
	}
	return all
}

// Volume implements volumes.Cluster.
func (c controllers) Volume(name string) *v1.PersistentVolume {
	return lookUp[v1.PersistentVolume](c.replica, "", name)
}

// Class implements volumes.Cluster.
func (c controllers) Class(name string) *storagev1.StorageClass {
	return lookUp[storagev1.StorageClass](c.replica, "", name)
}

// Node implements volumes.Cluster.
func (c controllers) Node(name string) *v1.Node { return lookUp[v1.Node](c.replica, "", name) }

// CSINode implements volumes.Cluster.
func (c controllers) CSINode(name string) *storagev1.CSINode {
	return lookUp[storagev1.CSINode](c.replica, "", name)
}

// CreateVolume implements volumes.Cluster.
func (c controllers) CreateVolume(created *v1.PersistentVolume) error {
	k, err := c.kinds.keyOf(created)
	if err == nil {
		err = c.create(k, created)
	}
	return err
}

// ReplaceVolume implements volumes.Cluster.
func (c controllers) ReplaceVolume(_, updated *v1.PersistentVolume) { c.replace(updated) }

// ReplaceClaim implements volumes.Cluster.
func (c controllers) ReplaceClaim(_, updated *v1.PersistentVolumeClaim) { c.replace(updated) }

func (c controllers) replace(updated object) {
	k, err := c.kinds.keyOf(updated)
	if err != nil {
		c.fail(err)
		return
	}
	err = c.edit(func(shown objects) (objects, error) { return shown.with(k, updated), nil })
	if err != nil {
		c.fail(err)
	}
}
