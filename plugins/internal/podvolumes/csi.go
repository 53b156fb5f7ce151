// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package podvolumes

import (
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/client-go/informers"
	"k8s.io/csi-translation-lib/plugins"
	fwk "k8s.io/kube-scheduler/framework"
)

// CSINodes looks up which CSI drivers a node has.
type CSINodes interface {
	Get(name string) (*storagev1.CSINode, error)
}

// NewCSINodes returns the CSINodes of the handle's CSI manager, and those of the cluster if it has none.
func NewCSINodes(handle fwk.Handle, factory informers.SharedInformerFactory) CSINodes {
	if manager := handle.SharedCSIManager(); manager != nil {
		return manager.CSINodes()
	}
	return factory.Storage().V1().CSINodes().Lister()
}

// IsMigrated reports whether a CSI driver has taken over the volumes of an in-tree volume plugin, given by its name.
func IsMigrated(inTreePlugin string) bool {
	switch inTreePlugin {
	case plugins.AWSEBSInTreePluginName, plugins.GCEPDInTreePluginName, plugins.AzureDiskInTreePluginName,
		plugins.CinderInTreePluginName, plugins.PortworxVolumePluginName:
		return true
	}
	return false
}
