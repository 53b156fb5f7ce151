// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// This file makes in-tree volumes that csi-translation-lib migrates to CSI drivers.

// migrations are the names of the in-tree plugins, and of the drivers in their place.
func migrations() [][2]string {
	return [][2]string{
		{"kubernetes.io/aws-ebs", "ebs.csi.aws.com"},
		{"kubernetes.io/gce-pd", "pd.csi.storage.gke.io"},
		{"kubernetes.io/azure-disk", "disk.csi.azure.com"},
		{"kubernetes.io/azure-file", "file.csi.azure.com"},
		{"kubernetes.io/cinder", "cinder.csi.openstack.org"},
		{"kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com"},
		{"kubernetes.io/portworx-volume", "pxd.portworx.com"},
	}
}

// migrated returns some of the in-tree plugins, as a CSINode lists those that its drivers replace.
func (g *generator) migrated() string {
	return strings.Join(some(g, 7, func() string { return pick(g, migrations()...)[0] }), ",")
}

// inlineDisk gives a volume of a pod an in-tree source.
func (g *generator) inlineDisk(source *v1.VolumeSource) {
	switch g.IntN(5) {
	case 0:
		disk := g.azureDisk()
		source.AzureDisk = &disk
	case 1:
		source.AzureFile = &v1.AzureFileVolumeSource{SecretName: pick(g, "", "secret"), ShareName: pick(g, "a", "b")}
	case 2:
		source.Cinder = &v1.CinderVolumeSource{VolumeID: pick(g, "vol-a", "vol-b")}
	case 3:
		source.VsphereVolume = &v1.VsphereVirtualDiskVolumeSource{VolumePath: pick(g, "[ds] a.vmdk", "[ds] b.vmdk")}
	default:
		source.PortworxVolume = &v1.PortworxVolumeSource{VolumeID: pick(g, "vol-a", "vol-b")}
	}
}

// disk gives a persistent volume an in-tree source.
func (g *generator) disk(source *v1.PersistentVolumeSource) {
	switch g.IntN(6) {
	case 0:
		disk := g.azureDisk()
		source.AzureDisk = &disk
	case 1:
		source.AzureFile = &v1.AzureFilePersistentVolumeSource{
			SecretName: pick(g, "", "secret"), SecretNamespace: pick(g, nil, ptr.To("shop")), ShareName: pick(g, "a", "b"),
		}
	case 2:
		source.Cinder = &v1.CinderPersistentVolumeSource{VolumeID: pick(g, "vol-a", "vol-b")}
	case 3:
		source.VsphereVolume = &v1.VsphereVirtualDiskVolumeSource{VolumePath: pick(g, "[ds] a.vmdk", "[ds] b.vmdk")}
	case 4:
		source.PortworxVolume = &v1.PortworxVolumeSource{VolumeID: pick(g, "vol-a", "vol-b")}
	default:
		source.GCEPersistentDisk = &v1.GCEPersistentDiskVolumeSource{PDName: pick(g, "disk-a", "disk-b")}
	}
}

// azureDisk returns a disk; only managed ones can be served by the driver.
func (g *generator) azureDisk() v1.AzureDiskVolumeSource {
	return v1.AzureDiskVolumeSource{
		DiskName: pick(g, "a", "b"), DataDiskURI: pick(g, "/subscriptions/x/disks/a", "/subscriptions/x/disks/b"),
		Kind: pick(g, nil, ptr.To(v1.AzureManagedDisk), ptr.To(v1.AzureManagedDisk), ptr.To(v1.AzureSharedBlobDisk)),
	}
}
