// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package notbuilt

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"
)

// Names of the plugins for volumes.
const (
	VolumeBinding      = "VolumeBinding"
	VolumeZone         = "VolumeZone"
	VolumeRestrictions = "VolumeRestrictions"
	NodeVolumeLimits   = "NodeVolumeLimits"
)

type volumeBinding struct {
	standIn
	noPreScore
	noScore
	noReserve
	noPreBind
}

var (
	_ fwk.PreFilterPlugin   = &volumeBinding{}
	_ fwk.FilterPlugin      = &volumeBinding{}
	_ fwk.PreScorePlugin    = &volumeBinding{}
	_ fwk.ScorePlugin       = &volumeBinding{}
	_ fwk.ReservePlugin     = &volumeBinding{}
	_ fwk.PreBindPlugin     = &volumeBinding{}
	_ fwk.EnqueueExtensions = &volumeBinding{}

	_ fwk.PreFilterPlugin   = &standIn{}
	_ fwk.FilterPlugin      = &standIn{}
	_ fwk.EnqueueExtensions = &standIn{}
)

// NewVolumeBinding builds the stand-in for VolumeBinding; arguments and handle are not used.
func NewVolumeBinding(context.Context, apiruntime.Object, fwk.Handle) (fwk.Plugin, error) {
	return &volumeBinding{standIn: standIn{name: VolumeBinding, find: firstVolume(claimed, ephemeral)}}, nil
}

// NewVolumeZone builds the stand-in for VolumeZone; arguments and handle are not used.
func NewVolumeZone(context.Context, apiruntime.Object, fwk.Handle) (fwk.Plugin, error) {
	return &standIn{name: VolumeZone, find: firstVolume(perNode(claimed))}, nil
}

// NewVolumeRestrictions builds the stand-in for VolumeRestrictions; arguments and handle are not used.
func NewVolumeRestrictions(context.Context, apiruntime.Object, fwk.Handle) (fwk.Plugin, error) {
	return &standIn{name: VolumeRestrictions, find: firstVolume(unshareableDisk, perNode(claimed))}, nil
}

// NewNodeVolumeLimits builds the stand-in for NodeVolumeLimits; arguments and handle are not used.
func NewNodeVolumeLimits(context.Context, apiruntime.Object, fwk.Handle) (fwk.Plugin, error) {
	return &standIn{name: NodeVolumeLimits, find: firstVolume(limitedDisk, perNode(claimed), perNode(ephemeral))}, nil
}

// volumeNeed tells what a volume asks of a missing plugin; nil if nothing.
type volumeNeed func(volume *v1.Volume) *need

// firstVolume looks for the first kind of need that any volume of a pod has.
func firstVolume(kinds ...volumeNeed) func(*v1.Pod) (*need, error) {
	return func(pod *v1.Pod) (*need, error) {
		for _, kind := range kinds {
			for i := range pod.Spec.Volumes {
				if found := kind(&pod.Spec.Volumes[i]); found != nil {
					found.field = fmt.Sprintf("spec.volumes[%d]", i)
					return found, nil
				}
			}
		}
		return nil, nil
	}
}

func perNode(kind volumeNeed) volumeNeed {
	return func(volume *v1.Volume) *need {
		found := kind(volume)
		if found != nil {
			found.perNode = true
		}
		return found
	}
}

func claimed(volume *v1.Volume) *need {
	if volume.PersistentVolumeClaim == nil {
		return nil
	}
	return &need{what: fmt.Sprintf("uses persistentVolumeClaim %q", volume.PersistentVolumeClaim.ClaimName)}
}

func ephemeral(volume *v1.Volume) *need {
	if volume.Ephemeral == nil {
		return nil
	}
	return &need{what: fmt.Sprintf("uses ephemeral volume %q", volume.Name)}
}

// unshareableDisk finds inline disks that can't be on a node twice, or not for writing.
func unshareableDisk(volume *v1.Volume) *need {
	switch {
	case volume.GCEPersistentDisk != nil:
		return disk("gcePersistentDisk", volume)
	case volume.AWSElasticBlockStore != nil:
		return disk("awsElasticBlockStore", volume)
	case volume.RBD != nil:
		return disk("rbd", volume)
	case volume.ISCSI != nil:
		return disk("iscsi", volume)
	}
	return nil
}

// limitedDisk finds inline disks that a CSI driver attaches, of which a node takes only so many. Inline CSI volumes are
// not attached and have no limit.
func limitedDisk(volume *v1.Volume) *need {
	switch {
	case volume.GCEPersistentDisk != nil:
		return disk("gcePersistentDisk", volume)
	case volume.AWSElasticBlockStore != nil:
		return disk("awsElasticBlockStore", volume)
	case volume.AzureDisk != nil:
		return disk("azureDisk", volume)
	case volume.Cinder != nil:
		return disk("cinder", volume)
	case volume.PortworxVolume != nil:
		return disk("portworxVolume", volume)
	}
	return nil
}

func disk(kind string, volume *v1.Volume) *need {
	return &need{what: fmt.Sprintf("uses %s volume %q", kind, volume.Name)}
}
