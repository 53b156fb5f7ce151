// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package noderesources

import (
	v1 "k8s.io/api/core/v1"
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
func (d DeviceClasses) Serve(name v1.ResourceName) bool {
	if d.handle == nil {
		return false
	}
	manager := d.handle.SharedDRAManager()
	if manager == nil {
		return false
	}
	resolver := manager.DeviceClassResolver()
	return resolver != nil && resolver.GetDeviceClass(name) != nil
}
