// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// noDevices is the dynamic resources of a cluster without any. Without a manager, kube-scheduler's plugins panic.
type noDevices struct{}

func (noDevices) ResourceClaims() fwk.ResourceClaimTracker                { return nil }
func (noDevices) ResourceSlices() fwk.ResourceSliceLister                 { return nil }
func (noDevices) DeviceClasses() fwk.DeviceClassLister                    { return nil }
func (noDevices) DeviceClassResolver() fwk.DeviceClassResolver            { return noDevices{} }
func (noDevices) GetDeviceClass(v1.ResourceName) *resourceapi.DeviceClass { return nil }
