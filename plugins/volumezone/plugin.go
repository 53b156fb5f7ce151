// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package volumezone is the plugin VolumeZone: a pod goes only to nodes in the zones and regions of its persistent
// volumes, as far as labels of the volumes tell. Volumes that tell by their node affinity are the business of
// VolumeBinding.
//
//   - Extension points: PreFilter, Filter, Sign.
//   - Arguments: none.
//   - Wakes on: a claim of the pod is added or changes; a volume is added, or its zones change; a storage class that
//     waits for the first consumer is added; a node is added, or its labels change.
//   - Reads: the claims that the pod names, their volumes and storage classes, and the labels of the node. Pods on the
//     node don't matter.
package volumezone

import (
	"context"

	apiruntime "k8s.io/apimachinery/pkg/runtime"
	listersv1 "k8s.io/client-go/listers/core/v1"
	storagelisters "k8s.io/client-go/listers/storage/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/pluginargs"
)

// Name is the name of the plugin in profiles.
const Name = "VolumeZone"

// reasonZone is why a node is rejected that is not where a volume of the pod is.
const reasonZone = "node(s) had no available volume zone"

var (
	_ fwk.PreFilterPlugin       = &plugin{}
	_ fwk.FilterPlugin          = &plugin{}
	_ fwk.EnqueueExtensions     = &plugin{}
	_ fwk.SignPlugin            = &plugin{}
	_ framework.HintClassPlugin = &plugin{}
)

// plugin implements VolumeZone. Nothing in it changes after New.
type plugin struct {
	claims  listersv1.PersistentVolumeClaimLister
	volumes listersv1.PersistentVolumeLister
	classes storagelisters.StorageClassLister
}

// New builds the plugin; arguments are not used. It fails if the handle has no informers.
func New(_ context.Context, _ apiruntime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	informers, err := pluginargs.Informers(Name, "PersistentVolumeClaims", handle)
	if err != nil {
		return nil, err
	}
	return &plugin{
		claims:  informers.Core().V1().PersistentVolumeClaims().Lister(),
		volumes: informers.Core().V1().PersistentVolumes().Lister(),
		classes: informers.Storage().V1().StorageClasses().Lister(),
	}, nil
}

// Name implements fwk.Plugin.
func (pl *plugin) Name() string { return Name }
