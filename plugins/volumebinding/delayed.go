// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package volumebinding

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	clientcache "k8s.io/client-go/tools/cache"
	storagevolume "k8s.io/component-helpers/storage/volume"
)

const (
	// freeByClass is the index of the persistent volumes that no claim has, by the name of their storage class.
	freeByClass = "free-by-storage-class"
	// byClaim is the index of the others, by namespace/name of the claim.
	byClaim = "by-claim"
)

// indexVolumes adds the indexes to an informer of persistent volumes, unless another profile did already.
func indexVolumes(informer clientcache.SharedIndexInformer) error {
	if _, found := informer.GetIndexer().GetIndexers()[freeByClass]; found {
		return nil
	}
	err := informer.AddIndexers(clientcache.Indexers{
		freeByClass: func(object any) ([]string, error) {
			volume, ok := object.(*v1.PersistentVolume)
			if !ok || volume.Spec.ClaimRef != nil {
				return nil, nil
			}
			return []string{storagevolume.GetPersistentVolumeClass(volume)}, nil
		},
		byClaim: func(object any) ([]string, error) {
			volume, ok := object.(*v1.PersistentVolume)
			if !ok || volume.Spec.ClaimRef == nil {
				return nil, nil
			}
			return []string{volume.Spec.ClaimRef.Namespace + "/" + volume.Spec.ClaimRef.Name}, nil
		},
	})
	if err != nil {
		return fmt.Errorf("indexing PersistentVolumes by storage class and claim: %w", err)
	}
	return nil
}

// delayedClaim is a claim that is bound when the pod has a node, with what is the same for all nodes.
type delayedClaim struct {
	*v1.PersistentVolumeClaim
	// node is where an earlier attempt asked for a volume, if assigned is set. The claim has to stay there.
	node     string
	assigned bool
	// candidates are the volumes that may be chosen, wherever they are; there are none if assigned is set.
	candidates candidates
	// provisioner looks at the storage class, when it is first called.
	provisioner func() (*provisioner, error)
}

// prepareDelayed looks up what can be bound to claims, and orders them: those first that have to stay on a node, the others by
// size, so that a small claim does not take the volume that only a large one needs.
func (pl *plugin) prepareDelayed(claims []*v1.PersistentVolumeClaim) ([]*delayedClaim, error) {
	prepared := make([]*delayedClaim, 0, len(claims))
	for _, claim := range claims {
		d := &delayedClaim{PersistentVolumeClaim: claim}
		d.node, d.assigned = claim.Annotations[storagevolume.AnnSelectedNode]
		if !d.assigned {
			volumes, err := pl.candidates(claim)
			if err != nil {
				return nil, err
			}
			d.candidates = pl.suitable(claim, volumes)
		}
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

// candidates returns the volumes of the storage class of a claim that no other claim has.
func (pl *plugin) candidates(claim *v1.PersistentVolumeClaim) ([]*v1.PersistentVolume, error) {
	class := storagevolume.GetPersistentVolumeClaimClass(claim)
	free, err := pl.volumes.ByIndex(freeByClass, class)
	if err != nil {
		return nil, err
	}
	own, err := pl.volumes.ByIndex(byClaim, claimKey(claim))
	if err != nil {
		return nil, err
	}
	for _, volume := range own {
		if storagevolume.GetPersistentVolumeClass(volume) == class {
			free = append(free, volume)
		}
	}
	free = slices.DeleteFunc(free, func(volume *v1.PersistentVolume) bool {
		return volume.Spec.ClaimRef != nil && !storagevolume.IsVolumeBoundToClaim(volume, claim)
	})
	return free, nil
}

// candidates are volumes that will do for a claim on the nodes from which they can be reached. It says what
// storagevolume.FindMatchingVolume does, at less cost if there are many nodes.
type candidates struct {
	failure error
	// prebound are volumes that are there for the claim, by name; free are the others, by size and name.
	prebound, free []candidate
	places         domains // of free
}

// candidate is a volume, and from where it can be reached.
type candidate struct {
	*v1.PersistentVolume
	affinity
}

// suitable returns those of the volumes that will do for a claim on some node.
func (pl *plugin) suitable(claim *v1.PersistentVolumeClaim, volumes []*v1.PersistentVolume) candidates {
	var c candidates
	match := func(volumes ...*v1.PersistentVolume) (*v1.PersistentVolume, error) {
		found, err := storagevolume.FindMatchingVolume(claim, volumes, nil, nil, false, true)
		if err != nil {
			return nil, fmt.Errorf("matching volumes with claim %q: %w", claimKey(claim), err)
		}
		return found, nil
	}
	if _, err := match(); err != nil {
		return candidates{failure: err}
	}
	for _, volume := range volumes {
		prebound := storagevolume.IsVolumeBoundToClaim(volume, claim)
		if !prebound && !storagevolume.CheckAccessModes(claim, volume) { // which is not asked for without a node
			continue
		}
		found, err := match(volume)
		switch {
		case err != nil:
			return candidates{failure: err}
		case found == nil:
		case prebound:
			c.prebound = append(c.prebound, candidate{volume, affinityOf(volume)})
		default:
			c.free = append(c.free, candidate{volume, pl.affinities.of(volume, pl.isCurrent)})
		}
	}
	slices.SortFunc(c.prebound, func(a, b candidate) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(c.free, func(a, b candidate) int {
		sizeA, sizeB := a.Spec.Capacity[v1.ResourceStorage], b.Spec.Capacity[v1.ResourceStorage]
		return cmp.Or(sizeA.Cmp(sizeB), cmp.Compare(a.Name, b.Name))
	})
	for i := range c.free {
		if c.free[i].required == nil {
			c.places.add(i, nil)
		} else {
			c.places.add(i, affinityDomains(c.free[i].required))
		}
	}
	return c
}

// isCurrent reports whether a volume is there, in the same version.
func (pl *plugin) isCurrent(volume *v1.PersistentVolume) bool {
	current, err := pl.volumes.Get(volume.Name)
	return err == nil && current == volume
}

// affinityCache has the parsed affinities of free volumes. The zero value is empty.
type affinityCache struct {
	mu       sync.Mutex
	byVolume map[*v1.PersistentVolume]affinity
	// limit is with how many those of volumes that have changed, or are gone, are dropped: at least twice as many as there
	// are others.
	limit int
}

// minAffinities is how many affinities are kept, however many of them are of volumes that are gone.
const minAffinities = 1024

// of returns the affinity of a volume. isCurrent reports whether a volume is there, in the same version.
func (c *affinityCache) of(volume *v1.PersistentVolume, isCurrent func(*v1.PersistentVolume) bool) affinity {
	c.mu.Lock()
	defer c.mu.Unlock()
	a, ok := c.byVolume[volume]
	if !ok {
		if len(c.byVolume) >= max(c.limit, minAffinities) {
			maps.DeleteFunc(c.byVolume, func(kept *v1.PersistentVolume, _ affinity) bool { return !isCurrent(kept) })
			c.limit = 2 * len(c.byVolume)
		}
		if c.byVolume == nil {
			c.byVolume = map[*v1.PersistentVolume]affinity{}
		}
		a = affinityOf(volume)
		c.byVolume[volume] = a
	}
	return a
}

// on returns the volume that is to be chosen on a node with the labels; nil if there is none. Taken are not to be chosen.
func (c *candidates) on(nodeLabels map[string]string, taken []binding) *v1.PersistentVolume {
	isTaken := func(volume *v1.PersistentVolume) bool {
		return slices.ContainsFunc(taken, func(b binding) bool { return b.volume.Name == volume.Name })
	}
	for i := range c.prebound {
		if isTaken(c.prebound[i].PersistentVolume) {
			continue
		}
		if c.prebound[i].includes(nodeLabels) {
			return c.prebound[i].PersistentVolume
		}
		return nil // no other will do
	}
	first := c.places.first(nodeLabels, func(i int) bool {
		return c.free[i].includes(nodeLabels) && !isTaken(c.free[i].PersistentVolume)
	})
	if first < 0 {
		return nil
	}
	return c.free[first].PersistentVolume
}

// planDelayed finds a volume for every delayed claim on a node: one that there is, or else one that can be made. It
// returns why there is none, if so. The plan is appended to p, which is in the working space of the caller.
func planDelayed(delayed []*delayedClaim, node *v1.Node, p *plan) (reason string, err error) {
	for _, claim := range delayed {
		if claim.assigned && claim.node != node.Name {
			return reasonNoVolume, nil
		}
	}
	p.bindings, p.provisions = p.bindings[:0], p.provisions[:0]
	for _, claim := range delayed {
		if claim.assigned {
			continue
		}
		if claim.candidates.failure != nil {
			return "", claim.candidates.failure
		}
		if volume := claim.candidates.on(node.Labels, p.bindings); volume != nil {
			p.bindings = append(p.bindings, binding{claim: claim.PersistentVolumeClaim, volume: volume})
		}
	}
	for _, claim := range delayed {
		if p.binds(claim.PersistentVolumeClaim) {
			continue
		}
		provisioner, err := claim.provisioner()
		if err != nil {
			return "", err
		}
		capacity, reason := provisioner.provisionOn(node)
		if reason != "" {
			return reason, nil
		}
		p.provisions = append(p.provisions, provision{claim: claim.PersistentVolumeClaim, capacity: capacity})
	}
	return "", nil
}

// binds reports whether the plan has a volume that exists for a claim.
func (p *plan) binds(claim *v1.PersistentVolumeClaim) bool {
	return slices.ContainsFunc(p.bindings, func(b binding) bool { return b.claim == claim })
}
