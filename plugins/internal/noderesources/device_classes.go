// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package noderesources

import (
	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// DeviceClasses answers whether an extended resource is served by devices through a DeviceClass (KEP-5004) where nodes
// don't offer it themselves. The zero value knows of none.
type DeviceClasses struct {
	handle fwk.Handle
}

// NewDeviceClasses keeps the handle and asks its manager later; a nil handle, or one without a manager, has no device
// classes.
func NewDeviceClasses(handle fwk.Handle) DeviceClasses {
	return DeviceClasses{handle: handle}
}

// Serve reports whether some DeviceClass stands for the resource.
func (d DeviceClasses) Serve(name v1.ResourceName) bool { return d.class(name) != nil }

// class returns the class that stands for a resource; nil if there is none.
func (d DeviceClasses) class(name v1.ResourceName) *resourceapi.DeviceClass {
	if d.handle == nil {
		return nil
	}
	manager := d.handle.SharedDRAManager()
	if manager == nil {
		return nil
	}
	resolver := manager.DeviceClassResolver()
	if resolver == nil {
		return nil
	}
	return resolver.GetDeviceClass(name)
}
