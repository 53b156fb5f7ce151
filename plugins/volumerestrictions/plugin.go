// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package volumerestrictions is the plugin VolumeRestrictions: disks that only one pod at a time can use, or that
// several can only read, are not given to a second pod.
//
//   - Extension points: PreFilter, also for pods added and removed in thought, Filter, Sign.
//   - Arguments: none.
//   - Wakes on: a pod is deleted that used the same disk or claim; a claim of the pod is added; a node is added, or
//     deleted with those that used the claim.
//   - Reads: inline disks of the pod and of the pods on the node; the access modes of the claims that the pod names, and
//     whether any pod on any node uses them.
//
// Two pods on one node conflict over a disk that both have inline in their volumes: a GCE persistent disk, an iSCSI or
// an RBD disk unless both only read it, and an AWS EBS disk always. A claim with access mode ReadWriteOncePod is for one
// pod in the whole cluster, wherever it runs.
package volumerestrictions

import (
	"context"

	apiruntime "k8s.io/apimachinery/pkg/runtime"
	listersv1 "k8s.io/client-go/listers/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/pluginargs"
)

// Name is the name of the plugin in profiles.
const Name = "VolumeRestrictions"

const (
	// reasonDiskConflict is why a node is rejected on which a pod uses a disk that the pod can't share with it.
	reasonDiskConflict = "node(s) had no available disk"
	// ReasonClaimInUse is why every node is rejected while another pod uses a claim that is for one pod only.
	ReasonClaimInUse = "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
)

var (
	_ fwk.PreFilterPlugin       = &plugin{}
	_ fwk.PreFilterExtensions   = &plugin{}
	_ fwk.FilterPlugin          = &plugin{}
	_ fwk.EnqueueExtensions     = &plugin{}
	_ fwk.SignPlugin            = &plugin{}
	_ framework.HintClassPlugin = &plugin{}
)

// plugin implements VolumeRestrictions. Nothing in it changes after New.
type plugin struct {
	handle fwk.Handle
	claims listersv1.PersistentVolumeClaimLister
}

// New builds the plugin; arguments are not used. It fails if the handle has no informers.
func New(_ context.Context, _ apiruntime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	informers, err := pluginargs.Informers(Name, "PersistentVolumeClaims", handle)
	if err != nil {
		return nil, err
	}
	return &plugin{handle: handle, claims: informers.Core().V1().PersistentVolumeClaims().Lister()}, nil
}

// Name implements fwk.Plugin.
func (pl *plugin) Name() string { return Name }
