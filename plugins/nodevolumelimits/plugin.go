// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package nodevolumelimits is the plugin NodeVolumeLimits: a node takes a pod only if the CSI drivers there can attach
// all its volumes in addition to those that are attached already.
//
//   - Extension points: PreFilter, Filter, Sign.
//   - Arguments: none.
//   - Wakes on: a pod with volumes is deleted; a claim of the pod is added; a node is added, gets a CSI driver, a higher
//     limit or none; a driver does not keep pods off the nodes without it any more; a volume is detached.
//   - Reads: the volumes of the pod and of the pods on the node, with their claims, persistent volumes and storage
//     classes; the CSINode of the node, its VolumeAttachments, and CSIDrivers.
//
// # What counts
//
// A volume counts against the limit of the driver that attaches it, however many pods on the node use it. The driver is
// that of the persistent volume, or the provisioner of the storage class while there is none. In-tree volumes that a CSI
// driver has taken over count against that driver on nodes that have a CSINode. Attached volumes that no pod on the node
// uses count too, as they take a place until they are detached.
package nodevolumelimits

import (
	"context"

	apiruntime "k8s.io/apimachinery/pkg/runtime"
	listersv1 "k8s.io/client-go/listers/core/v1"
	storagelisters "k8s.io/client-go/listers/storage/v1"
	clientcache "k8s.io/client-go/tools/cache"
	csitranslation "k8s.io/csi-translation-lib"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/internal/csi"
	"github.com/rouse-scheduler/rouse/plugins/internal/pluginargs"
	"github.com/rouse-scheduler/rouse/plugins/internal/podvolumes"
)

// Name is the name of the plugin in profiles.
const Name = "NodeVolumeLimits"

// reasonTooManyVolumes is why a node is rejected where a driver can't attach all volumes. The other reason is that a
// driver, which it names, is not there.
const reasonTooManyVolumes = "node(s) exceed max volume count"

var (
	_ fwk.PreFilterPlugin       = &plugin{}
	_ fwk.FilterPlugin          = &plugin{}
	_ fwk.EnqueueExtensions     = &plugin{}
	_ fwk.SignPlugin            = &plugin{}
	_ framework.HintClassPlugin = &plugin{}
)

// plugin implements NodeVolumeLimits. Of what is in it only the table changes after New.
type plugin struct {
	csiNodes    podvolumes.CSINodes
	claims      listersv1.PersistentVolumeClaimLister
	volumes     listersv1.PersistentVolumeLister
	classes     storagelisters.StorageClassLister
	drivers     storagelisters.CSIDriverLister
	attachments clientcache.Indexer // with attachmentsByNode
	// missingOK accepts nodes that lack a driver, whatever the driver says to that.
	missingOK  bool
	translator csitranslation.CSITranslator
	// table has what is known of nodes; nil if the handle has no csi.Manager.
	table *nodeTable
}

// New builds the plugin; arguments are not used. It fails if the handle has no informers, or does not let it index
// them.
func New(_ context.Context, _ apiruntime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	informers, err := pluginargs.Informers(Name, "PersistentVolumeClaims", handle)
	if err != nil {
		return nil, err
	}
	core, storage := informers.Core().V1(), informers.Storage().V1()
	attachments, err := indexAttachments(storage.VolumeAttachments().Informer())
	if err != nil {
		return nil, err
	}
	pl := &plugin{
		csiNodes:    podvolumes.NewCSINodes(handle, informers),
		claims:      core.PersistentVolumeClaims().Lister(),
		volumes:     core.PersistentVolumes().Lister(),
		classes:     storage.StorageClasses().Lister(),
		drivers:     storage.CSIDrivers().Lister(),
		attachments: attachments,
		translator:  csitranslation.New(),
	}
	manager, ok := handle.SharedCSIManager().(*csi.Manager)
	if ok && manager.Follow(fwk.CSINode, fwk.VolumeAttachment, fwk.PersistentVolumeClaim, fwk.PersistentVolume, fwk.StorageClass) {
		pl.table = &nodeTable{plugin: pl, manager: manager}
	}
	return pl, nil
}

// NewWithMissingDrivers is like [New], but the plugin accepts nodes that lack a driver that must be there
// (preventPodSchedulingIfMissing).
func NewWithMissingDrivers(ctx context.Context, object apiruntime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	built, err := New(ctx, object, handle)
	if err != nil {
		return nil, err
	}
	built.(*plugin).missingOK = true
	return built, nil
}

// Name implements fwk.Plugin.
func (pl *plugin) Name() string { return Name }
