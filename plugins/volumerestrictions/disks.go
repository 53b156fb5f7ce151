// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package volumerestrictions

import (
	"slices"

	v1 "k8s.io/api/core/v1"
)

// isRestricted reports whether a volume is an inline disk that two pods can't share as they like.
func isRestricted(volume *v1.VolumeSource) bool {
	return volume.GCEPersistentDisk != nil || volume.AWSElasticBlockStore != nil || volume.ISCSI != nil || volume.RBD != nil
}

func hasRestrictedDisk(pod *v1.Pod) bool {
	for i := range pod.Spec.Volumes {
		if isRestricted(&pod.Spec.Volumes[i].VolumeSource) {
			return true
		}
	}
	return false
}

// disksConflict reports whether the volumes of two pods have a disk in common that one node can't give to both.
func disksConflict(a, b []v1.Volume) bool {
	for i := range a {
		disk := &a[i].VolumeSource
		if !isRestricted(disk) {
			continue
		}
		for j := range b {
			if conflict(disk, &b[j].VolumeSource) {
				return true
			}
		}
	}
	return false
}

func conflict(a, b *v1.VolumeSource) bool {
	return a.GCEPersistentDisk != nil && b.GCEPersistentDisk != nil && conflictGCE(a.GCEPersistentDisk, b.GCEPersistentDisk) ||
		a.AWSElasticBlockStore != nil && b.AWSElasticBlockStore != nil &&
			a.AWSElasticBlockStore.VolumeID == b.AWSElasticBlockStore.VolumeID ||
		a.ISCSI != nil && b.ISCSI != nil && conflictISCSI(a.ISCSI, b.ISCSI) ||
		a.RBD != nil && b.RBD != nil && conflictRBD(a.RBD, b.RBD)
}

func conflictGCE(a, b *v1.GCEPersistentDiskVolumeSource) bool {
	return a.PDName == b.PDName && !(a.ReadOnly && b.ReadOnly)
}

// conflictISCSI goes by the qualified name alone: several portals and LUNs of it are taken to be one disk.
func conflictISCSI(a, b *v1.ISCSIVolumeSource) bool {
	return a.IQN == b.IQN && !(a.ReadOnly && b.ReadOnly)
}

// conflictRBD takes pools of clusters to be the same if any monitor is.
func conflictRBD(a, b *v1.RBDVolumeSource) bool {
	sameCluster := slices.ContainsFunc(a.CephMonitors, func(monitor string) bool { return slices.Contains(b.CephMonitors, monitor) })
	return sameCluster && a.RBDPool == b.RBDPool && a.RBDImage == b.RBDImage && !(a.ReadOnly && b.ReadOnly)
}
