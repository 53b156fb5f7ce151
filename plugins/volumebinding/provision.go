// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package volumebinding

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	storagevolume "k8s.io/component-helpers/storage/volume"
	"k8s.io/utils/ptr"
)

// provisioner is where a storage class can make a volume for a claim.
type provisioner struct {
	// never is set if the class makes no volumes.
	never bool
	// class is the storage class. Topologies are the nodes that it allows, one of them; nil allows all.
	class      *storagev1.StorageClass
	topologies []labels.Selector
	// limited is set if the driver reports how much storage there is. Then capacities are those that are large enough for size,
	// as of a revision of all of them.
	limited    bool
	capacities *largeCapacities
	size       int64
	revision   uint64
}

// largeCapacities are the storage of a class that is large enough for a volume, by namespace and name.
type largeCapacities struct {
	list   []reachableCapacity
	places domains
}

// reachableCapacity is storage and the nodes that can use it.
type reachableCapacity struct {
	*storagev1.CSIStorageCapacity
	nodes labels.Selector
}

// capacityCache has what was found in one revision of all capacities. The zero value is empty.
type capacityCache struct {
	mu       sync.Mutex
	revision uint64
	found    map[capacityRequest]*largeCapacities
}

type capacityRequest struct {
	class string
	size  int64
}

// get returns what find finds, unless that is known.
func (c *capacityCache) get(revision uint64, request capacityRequest, find func() (*largeCapacities, error)) (*largeCapacities, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.found == nil || c.revision != revision || len(c.found) > maxCapacityRequests {
		c.revision, c.found = revision, map[capacityRequest]*largeCapacities{}
	}
	if known := c.found[request]; known != nil {
		return known, nil
	}
	large, err := find()
	if err == nil {
		c.found[request] = large
	}
	return large, err
}

// maxCapacityRequests is how many sizes of volumes are told apart before what is known of them is dropped.
const maxCapacityRequests = 64

// provisionerFor returns where the storage class of a claim can make a volume. It fails if the claim has no class, or one that does not
// exist.
func (pl *plugin) provisionerFor(claim *v1.PersistentVolumeClaim) (*provisioner, error) {
	name := storagevolume.GetPersistentVolumeClaimClass(claim)
	if name == "" {
		return nil, fmt.Errorf("no class for claim %q", claimKey(claim))
	}
	class, err := pl.classes.Get(name)
	if err != nil {
		return nil, fmt.Errorf("failed to find storage class %q", name)
	}
	if class.Provisioner == "" || class.Provisioner == storagevolume.NotSupportedProvisioner {
		return &provisioner{never: true}, nil
	}
	o := &provisioner{class: class, topologies: allowedNodes(class.AllowedTopologies)}
	request, requested := claim.Spec.Resources.Requests[v1.ResourceStorage]
	if !requested {
		return o, nil
	}
	driver, err := pl.drivers.Get(class.Provisioner)
	switch {
	case apierrors.IsNotFound(err):
		return o, nil
	case err != nil:
		return nil, fmt.Errorf("looking up CSIDriver %q: %w", class.Provisioner, err)
	}
	if o.limited = ptr.Deref(driver.Spec.StorageCapacity, false); o.limited {
		o.size = request.Value()
		o.revision, o.capacities, err = pl.largeCapacities(name, o.size)
	}
	return o, err
}

// largeCapacities returns the storage of a class that is large enough for a volume, and as of which revision. Without a manager
// that counts revisions, it is zero.
func (pl *plugin) largeCapacities(class string, size int64) (revision uint64, large *largeCapacities, err error) {
	if pl.manager == nil {
		large, err = pl.capacitiesFor(class, size)
		return 0, large, err
	}
	revision = pl.manager.Capacities()
	large, err = pl.large.get(revision, capacityRequest{class, size}, func() (*largeCapacities, error) { return pl.capacitiesFor(class, size) })
	return revision, large, err
}

func (pl *plugin) capacitiesFor(class string, size int64) (*largeCapacities, error) {
	all, err := pl.capacities.List(labels.Everything())
	if err != nil {
		return nil, fmt.Errorf("listing CSIStorageCapacities: %w", err)
	}
	large := &largeCapacities{}
	for _, capacity := range all {
		if capacity.StorageClassName != class || capacity.NodeTopology == nil {
			continue
		}
		if limit := largestVolume(capacity); limit == nil || limit.Value() < size {
			continue
		}
		// Storage whose nodes can't be told is not reachable.
		if nodes, err := metav1.LabelSelectorAsSelector(capacity.NodeTopology); err == nil {
			large.list = append(large.list, reachableCapacity{CSIStorageCapacity: capacity, nodes: nodes})
		}
	}
	slices.SortFunc(large.list, func(a, b reachableCapacity) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	for i := range large.list {
		large.places.add(i, selectorDomains(large.list[i].NodeTopology))
	}
	return large, nil
}

// largestVolume returns how large a volume may be; nil if the driver does not know.
func largestVolume(capacity *storagev1.CSIStorageCapacity) *resource.Quantity {
	if capacity.MaximumVolumeSize != nil {
		return capacity.MaximumVolumeSize
	}
	return capacity.Capacity
}

// provisionOn returns why no volume can be made on a node. If one can, the reason is empty, and capacity is the storage that it
// comes from, nil if that is not known.
func (o *provisioner) provisionOn(node *v1.Node) (capacity *storagev1.CSIStorageCapacity, reason string) {
	nodeLabels := labels.Set(node.Labels)
	if o.never || o.topologies != nil && !slices.ContainsFunc(o.topologies, func(nodes labels.Selector) bool { return nodes.Matches(nodeLabels) }) {
		return nil, reasonNoVolume
	}
	if !o.limited {
		return nil, ""
	}
	first := o.capacities.places.first(node.Labels, func(i int) bool { return o.capacities.list[i].nodes.Matches(nodeLabels) })
	if first < 0 {
		return nil, reasonNoCapacity
	}
	return o.capacities.list[first].CSIStorageCapacity, ""
}

// allowedNodes turns the allowed topologies of a storage class into selectors, of which a node must match one. No terms
// allow all nodes, which gives nil. A term that is empty or can't be parsed allows none.
func allowedNodes(terms []v1.TopologySelectorTerm) []labels.Selector {
	if len(terms) == 0 {
		return nil
	}
	selectors := make([]labels.Selector, len(terms))
	for i, term := range terms {
		selectors[i] = allowedByTerm(term)
	}
	return selectors
}

func allowedByTerm(term v1.TopologySelectorTerm) labels.Selector {
	if len(term.MatchLabelExpressions) == 0 {
		return labels.Nothing()
	}
	selector := labels.NewSelector()
	for _, expression := range term.MatchLabelExpressions {
		requirement, err := labels.NewRequirement(expression.Key, selection.In, expression.Values)
		if err != nil {
			return labels.Nothing()
		}
		selector = selector.Add(*requirement)
	}
	return selector
}

// requestedStorage is how large the volume of a claim has to be; zero if the claim does not say.
func requestedStorage(claim *v1.PersistentVolumeClaim) resource.Quantity {
	return claim.Spec.Resources.Requests[v1.ResourceStorage]
}
