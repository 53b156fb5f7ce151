// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package volumebinding

import (
	"context"
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"
	storagevolume "k8s.io/component-helpers/storage/volume"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugins/internal/statedata"
)

// PreScore implements fwk.PreScorePlugin. Score is not skipped, even for a pod without claims.
func (pl *plugin) PreScore(_ context.Context, state fwk.CycleState, _ *v1.Pod, _ []fwk.NodeInfo) *fwk.Status {
	if _, err := statedata.Read[*podState](state, stateKey); err != nil {
		return fwk.AsStatus(err)
	}
	return nil
}

// Score implements fwk.ScorePlugin: the mean, over the storage classes of the plan for the node, of what the shape says
// to how full the storage will be. It is zero if that is not known for any class.
func (pl *plugin) Score(_ context.Context, state fwk.CycleState, _ *v1.Pod, nodeInfo fwk.NodeInfo) (int64, *fwk.Status) {
	ofPod, err := statedata.Read[*podState](state, stateKey)
	if err != nil {
		return 0, fwk.AsStatus(err)
	}
	if !ofPod.knowsStorage() {
		return 0, nil
	}
	p := &plan{}
	if reason, err := planDelayed(ofPod.delayed, nodeInfo.Node(), p); reason != "" || err != nil {
		return 0, nil // the node does not take the pod
	}
	storage := p.storage()
	if len(storage) == 0 {
		return 0, nil
	}
	var sum int64
	for _, s := range storage {
		sum += pl.shape.Filled(s.requested, s.capacity)
	}
	return int64(math.Round(float64(sum) / float64(len(storage)))), nil
}

// knowsStorage reports whether it is known on any node how much storage there is.
func (s *podState) knowsStorage() bool {
	return slices.ContainsFunc(s.delayed, func(claim *delayedClaim) bool {
		if len(claim.candidates.prebound)+len(claim.candidates.free) > 0 {
			return true
		}
		provisioner, err := claim.provisioner()
		return err == nil && provisioner.limited
	})
}

// ScoreExtensions implements fwk.ScorePlugin.
func (pl *plugin) ScoreExtensions() fwk.ScoreExtensions { return nil }

// storageUse is how much of the storage of a class a pod takes, in bytes.
type storageUse struct{ requested, capacity int64 }

// storage returns what the plan takes of each storage class. Volumes to be made count only if none is chosen that
// exists, and only where it is known how much storage there is.
func (p *plan) storage() map[string]storageUse {
	uses := map[string]storageUse{}
	for _, b := range p.bindings {
		class := storagevolume.GetPersistentVolumeClass(b.volume)
		use, capacity := uses[class], b.volume.Spec.Capacity[v1.ResourceStorage]
		requested := requestedStorage(b.claim)
		uses[class] = storageUse{requested: use.requested + requested.Value(), capacity: use.capacity + capacity.Value()}
	}
	if len(p.bindings) > 0 {
		return uses
	}
	for _, made := range p.provisions {
		if made.capacity == nil {
			continue
		}
		class := storagevolume.GetPersistentVolumeClaimClass(made.claim)
		requested := requestedStorage(made.claim)
		use := storageUse{requested: uses[class].requested + requested.Value()}
		if known := made.capacity.Capacity; known != nil {
			use.capacity = known.Value()
		}
		uses[class] = use
	}
	return uses
}
