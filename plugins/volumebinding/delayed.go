// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package volumebinding

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	clientcache "k8s.io/client-go/tools/cache"
	storagevolume "k8s.io/component-helpers/storage/volume"
)

// volumesByClass is the index of persistent volumes by the name of their storage class.
const volumesByClass = "storageclass"

// indexByClass adds the index to an informer of persistent volumes, unless another profile did already.
func indexByClass(informer clientcache.SharedIndexInformer) error {
	if _, found := informer.GetIndexer().GetIndexers()[volumesByClass]; found {
		return nil
	}
	err := informer.AddIndexers(clientcache.Indexers{volumesByClass: func(object any) ([]string, error) {
		volume, ok := object.(*v1.PersistentVolume)
		if !ok {
			return nil, nil
		}
		return []string{storagevolume.GetPersistentVolumeClass(volume)}, nil
	}})
	if err != nil {
		return fmt.Errorf("indexing PersistentVolumes by storage class: %w", err)
	}
	return nil
}

// delayedClaim is a claim that is bound when the pod has a node, with what is the same for all nodes.
type delayedClaim struct {
	*v1.PersistentVolumeClaim
	// node is where an earlier attempt asked for a volume, if assigned is set. The claim has to stay there.
	node     string
	assigned bool
	// candidates are the volumes that may be chosen, by name: those of its class that no other claim has.
	candidates []*v1.PersistentVolume
	// provisioner looks at the storage class, when it is first called.
	provisioner func() (*provisioner, error)
}

// prepare looks up what can be bound to claims, and orders them: those first that have to stay on a node, the others by
// size, so that a small claim does not take the volume that only a large one needs.
func (pl *plugin) prepare(claims []*v1.PersistentVolumeClaim) ([]*delayedClaim, error) {
	prepared := make([]*delayedClaim, 0, len(claims))
	for _, claim := range claims {
		candidates, err := pl.candidates(claim)
		if err != nil {
			return nil, err
		}
		d := &delayedClaim{PersistentVolumeClaim: claim, candidates: candidates}
		d.node, d.assigned = claim.Annotations[storagevolume.AnnSelectedNode]
		d.provisioner = sync.OnceValues(func() (*provisioner, error) { return pl.provisionerFor(claim) })
		prepared = append(prepared, d)
	}
	slices.SortStableFunc(prepared, func(a, b *delayedClaim) int {
		switch {
		case a.assigned && b.assigned:
			return 0
		case a.assigned:
			return -1
		case b.assigned:
			return 1
		}
		sizeA, sizeB := requestedStorage(a.PersistentVolumeClaim), requestedStorage(b.PersistentVolumeClaim)
		return sizeA.Cmp(sizeB)
	})
	return prepared, nil
}

func (pl *plugin) candidates(claim *v1.PersistentVolumeClaim) ([]*v1.PersistentVolume, error) {
	volumes, err := pl.volumes.ByIndex(volumesByClass, storagevolume.GetPersistentVolumeClaimClass(claim))
	if err != nil {
		return nil, err
	}
	volumes = slices.DeleteFunc(volumes, func(volume *v1.PersistentVolume) bool {
		return volume.Spec.ClaimRef != nil && !storagevolume.IsVolumeBoundToClaim(volume, claim)
	})
	slices.SortFunc(volumes, func(a, b *v1.PersistentVolume) int { return cmp.Compare(a.Name, b.Name) })
	return volumes, nil
}

// planDelayed finds a volume for every delayed claim on a node: one that there is, or else one that can be made. It
// returns why there is none, if so.
func planDelayed(delayed []*delayedClaim, node *v1.Node) (p *plan, reason string, err error) {
	for _, claim := range delayed {
		if claim.assigned && claim.node != node.Name {
			return nil, reasonNoVolume, nil
		}
	}
	p = &plan{}
	if len(delayed) == 0 {
		return p, "", nil
	}
	unmatched := make([]*delayedClaim, 0, len(delayed))
	taken := map[string]*v1.PersistentVolume{}
	for _, claim := range delayed {
		if claim.assigned {
			unmatched = append(unmatched, claim)
			continue
		}
		volume, err := storagevolume.FindMatchingVolume(claim.PersistentVolumeClaim, claim.candidates, node, taken, true, true)
		if err != nil {
			return nil, "", fmt.Errorf("matching volumes with claim %q: %w", claimKey(claim.PersistentVolumeClaim), err)
		}
		if volume == nil {
			unmatched = append(unmatched, claim)
			continue
		}
		taken[volume.Name] = volume
		p.bindings = append(p.bindings, binding{claim: claim.PersistentVolumeClaim, volume: volume})
	}
	for _, claim := range unmatched {
		provisioner, err := claim.provisioner()
		if err != nil {
			return nil, "", err
		}
		capacity, reason := provisioner.provisionOn(node)
		if reason != "" {
			return nil, reason, nil
		}
		p.provisions = append(p.provisions, provision{claim: claim.PersistentVolumeClaim, capacity: capacity})
	}
	return p, "", nil
}
