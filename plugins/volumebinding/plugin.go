// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package volumebinding is the plugin VolumeBinding: a pod goes only to nodes where its persistent volumes are, can be
// chosen, or can be made, and is bound only when it has them.
//
//   - Extension points: PreFilter, Filter, PreScore, Score, Reserve, PreBind, Sign.
//   - Arguments: VolumeBindingArgs. BindTimeoutSeconds is how long PreBind waits for volumes; Shape says how good it is
//     for storage to be filled to a certain degree.
//   - Wakes on: a claim of the pod is added or changes; any persistent volume is added or changes; a storage class or a
//     CSINode is added or changes where it can; there is more storage capacity, or a CSI driver does not track it any
//     more; a node is added, or its labels change.
//   - Reads: the claims of the pod, their volumes and storage classes, as the informers have them or as pods that are
//     being bound will change them; CSINodes, CSIDrivers, CSIStorageCapacities; the labels and the name of the node. Pods
//     on the node don't matter.
//
// # Kinds of claims
//
// A claim that is bound has a volume, which must be reachable from the node. A claim of a class with
// WaitForFirstConsumer is bound when its pod has a node: to a volume that there is, the smallest that will do,
// or else to one that the provisioner of the class makes. Claims of other classes are not waited for: a pod with one that
// is unbound fits nowhere.
//
// # From Filter to PreBind
//
// Filter looks whether there are volumes on each node, and keeps nothing of it. Reserve plans for the node that was chosen, from
// what PreFilter found, and assumes the plan, so that the next pod does not plan with the same volumes. PreBind
// writes the plan to the API server: it names the claim in volumes that exist, which makes the PV controller bind
// them, and the node in claims, which makes the provisioner make volumes there. Then it waits until all claims are
// bound.
//
// # Concurrency
//
// All methods may be called concurrently, and informers may call the handlers of the plugin in any goroutine, also in
// one that is just in PreBind. The plugin holds no lock while it calls the API server.
package volumebinding

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	clientset "k8s.io/client-go/kubernetes"
	listersv1 "k8s.io/client-go/listers/core/v1"
	storagelisters "k8s.io/client-go/listers/storage/v1"
	csitranslation "k8s.io/csi-translation-lib"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/ptr"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/internal/csi"
	"github.com/rouse-scheduler/rouse/plugins/internal/assumed"
	"github.com/rouse-scheduler/rouse/plugins/internal/pluginargs"
	"github.com/rouse-scheduler/rouse/plugins/internal/podvolumes"
	"github.com/rouse-scheduler/rouse/plugins/internal/polyline"
	"github.com/rouse-scheduler/rouse/profiles"
)

// Name is the name of the plugin in profiles.
const Name = "VolumeBinding"

const (
	// reasonUnboundImmediate is why a pod is rejected with a claim that the PV controller should have bound.
	reasonUnboundImmediate = "pod has unbound immediate PersistentVolumeClaims"
	// reasonNodeConflict is why a node is rejected from which a volume of the pod can't be reached.
	reasonNodeConflict = "node(s) didn't match PersistentVolume's node affinity"
	// reasonNoVolume is why a node is rejected where no volume can be chosen or made for a claim.
	reasonNoVolume = "node(s) didn't find available persistent volumes to bind"
	// reasonNoCapacity is why a node is rejected where a volume could be made, but for lack of storage.
	reasonNoCapacity = "node(s) did not have enough free storage"
	// reasonVolumeGone is why a node is rejected for a claim whose volume does not exist.
	reasonVolumeGone = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
)

var (
	_ fwk.PreFilterPlugin       = &plugin{}
	_ fwk.FilterPlugin          = &plugin{}
	_ fwk.PreScorePlugin        = &plugin{}
	_ fwk.ScorePlugin           = &plugin{}
	_ fwk.ReservePlugin         = &plugin{}
	_ fwk.PreBindPlugin         = &plugin{}
	_ fwk.EnqueueExtensions     = &plugin{}
	_ fwk.SignPlugin            = &plugin{}
	_ framework.HintClassPlugin = &plugin{}
)

// defaultBindTimeout is what the arguments have if they say nothing.
const defaultBindTimeout int64 = 600

// plugin implements VolumeBinding. What changes after New are the assumed claims and volumes, and what was parsed.
type plugin struct {
	client  clientset.Interface
	metrics Metrics

	// claims and volumes show what pods that are being bound will change; claimLister does not.
	claims      *assumed.Cache[*v1.PersistentVolumeClaim]
	volumes     *assumed.Cache[*v1.PersistentVolume]
	claimLister listersv1.PersistentVolumeClaimLister

	pods       listersv1.PodLister
	nodes      listersv1.NodeLister
	classes    storagelisters.StorageClassLister
	drivers    storagelisters.CSIDriverLister
	capacities storagelisters.CSIStorageCapacityLister
	csiNodes   podvolumes.CSINodes
	translator csitranslation.CSITranslator

	shape  polyline.Line
	waiter *bindWaiter

	// handle has the nodes of the snapshot. The manager tells what changes; nil if the handle has none.
	handle     fwk.Handle
	manager    *csi.Manager
	affinities affinityCache
	large      capacityCache
	rejections map[rejection]*fwk.Status
}

// New builds the plugin from *configv1.VolumeBindingArgs, where nil means all defaults. It fails if the handle has no
// informers, or does not let it index them.
func New(_ context.Context, object apiruntime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	args, err := pluginargs.Of[configv1.VolumeBindingArgs](Name, object)
	if err != nil {
		return nil, err
	}
	if err := profiles.ValidateArgs(Name, nil, args).ToAggregate(); err != nil {
		return nil, err
	}
	cluster, err := pluginargs.Informers(Name, "PersistentVolumeClaims", handle)
	if err != nil {
		return nil, err
	}
	core, storage := cluster.Core().V1(), cluster.Storage().V1()
	pl := &plugin{
		client:      handle.ClientSet(),
		metrics:     metricsOf(handle),
		claimLister: core.PersistentVolumeClaims().Lister(),
		pods:        core.Pods().Lister(),
		nodes:       core.Nodes().Lister(),
		classes:     storage.StorageClasses().Lister(),
		drivers:     storage.CSIDrivers().Lister(),
		capacities:  storage.CSIStorageCapacities().Lister(),
		csiNodes:    podvolumes.NewCSINodes(handle, cluster),
		translator:  csitranslation.New(),
		shape:       polyline.New(args.Shape),
		handle:      handle,
		rejections:  rejections(),
	}
	if manager, ok := handle.SharedCSIManager().(*csi.Manager); ok && manager.Follow(fwk.CSINode, fwk.CSIStorageCapacity) {
		pl.manager = manager
	}
	timeout := time.Duration(ptr.Deref(args.BindTimeoutSeconds, defaultBindTimeout)) * time.Second
	if err := pl.listen(handle, cluster, timeout); err != nil {
		return nil, err
	}
	return pl, nil
}

// listen makes everything that follows claims and volumes.
func (pl *plugin) listen(handle fwk.Handle, cluster informers.SharedInformerFactory, timeout time.Duration) error {
	claims := cluster.Core().V1().PersistentVolumeClaims().Informer()
	volumes := cluster.Core().V1().PersistentVolumes().Informer()
	if err := indexVolumes(volumes); err != nil {
		return err
	}
	var err error
	if pl.claims, err = assumed.New[*v1.PersistentVolumeClaim](v1.Resource("persistentvolumeclaim"), claims); err != nil {
		return err
	}
	if pl.volumes, err = assumed.New[*v1.PersistentVolume](v1.Resource("persistentvolume"), volumes); err != nil {
		return err
	}
	if pl.waiter, err = newBindWaiter(handle, timeout, claims, volumes); err != nil {
		return fmt.Errorf("listening to changes of claims and volumes: %w", err)
	}
	return nil
}

// Close makes the plugin stop listening to the informers.
func (pl *plugin) Close() error {
	return errors.Join(pl.claims.Close(), pl.volumes.Close(), pl.waiter.close())
}

// Name implements fwk.Plugin.
func (pl *plugin) Name() string { return Name }
