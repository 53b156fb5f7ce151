// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/dynamic-resource-allocation/structured"
	"k8s.io/utils/ptr"
)

// reach is which shared pools a node has devices in, and from where in them. Nodes that reach the same have the same one.
type reach struct {
	// key has the places.
	key string
	// pools are sorted.
	pools []*pool
	// single tells that a place is that of one node, or that devices of a slice have places of their own.
	single bool
	// view is that of the nodes without devices of their own; nil if there is none yet.
	view *View
}

// version is the newest of the pools.
func (r *reach) version() uint64 {
	var newest uint64
	for _, p := range r.pools {
		newest = max(newest, p.version)
	}
	return newest
}

// reaches knows what nodes reach. It starts again when the slices of shared pools change.
type reaches struct {
	nothing reach
	byNode  map[string]nodeReach
	byKey   map[string]*reach
	// places are where the devices of shared slices can be reached from, those of single nodes by the name of the node.
	places   []place
	ofNode   map[string]place
	arranged bool
}

type nodeReach struct {
	node  *v1.Node
	reach *reach
}

// place is what slices say about the nodes that reach their devices.
type place struct {
	// key stands for the nodes, whatever other places there are.
	key string
	// slice is one of them.
	slice *resourceapi.ResourceSlice
	pools map[poolID]*pool
}

// forget is called when the slices of shared pools have changed.
func (r *reaches) forget() {
	r.byNode, r.byKey, r.places, r.ofNode, r.arranged = nil, nil, nil, nil, false
}

// known returns what a node reaches; nil if that has to be found out.
func (r *reaches) known(m *Manager, node *v1.Node) *reach {
	if len(m.shared) == 0 {
		return &r.nothing
	}
	if known := r.byNode[node.Name]; known.node == node {
		return known.reach
	}
	return nil
}

// of returns what a node reaches. The caller holds the lock for writing.
func (r *reaches) of(m *Manager, node *v1.Node) *reach {
	if known := r.known(m, node); known != nil {
		return known
	}
	if !r.arranged {
		r.arrange(m)
	}
	var key []byte
	pools := map[poolID]*pool{}
	single := false
	add := func(p place) {
		for id, p := range p.pools {
			pools[id] = p
		}
	}
	each := false
	for _, p := range r.places {
		if !m.reached(p.slice, node) {
			continue
		}
		add(p)
		each = each || ptr.Deref(p.slice.Spec.PerDeviceNodeSelection, false)
		key = appendString(key, p.key)
	}
	if each { // which of the devices, the labels say
		single = true
		key = appendString(key, labels.FormatLabels(node.Labels))
	}
	if own, ok := r.ofNode[node.Name]; ok {
		add(own)
		single = true
	}
	if single {
		key = append(append(key, '/'), node.Name...)
	}
	found := r.byKey[string(key)]
	if found == nil {
		found = &reach{key: string(key), single: single}
		for _, p := range pools {
			found.pools = append(found.pools, p)
		}
		slices.SortFunc(found.pools, func(a, b *pool) int { return a.id.compare(b.id) })
		r.byKey[found.key] = found
	}
	r.byNode[node.Name] = nodeReach{node, found}
	return found
}

// arrange finds the places of all shared slices.
func (r *reaches) arrange(m *Manager) {
	r.byNode, r.byKey, r.ofNode, r.arranged = map[string]nodeReach{}, map[string]*reach{}, map[string]place{}, true
	numbers := map[string]int{}
	for id, p := range m.shared {
		for _, slice := range p.sorted {
			if name := ptr.Deref(slice.Spec.NodeName, ""); name != "" {
				own, ok := r.ofNode[name]
				if !ok {
					own = place{slice: slice, pools: map[poolID]*pool{}}
					r.ofNode[name] = own
				}
				own.pools[id] = p
				continue
			}
			key := placeKey(slice)
			i, ok := numbers[key]
			if !ok {
				i = len(r.places)
				numbers[key] = i
				r.places = append(r.places, place{key, slice, map[poolID]*pool{}})
			}
			r.places[i].pools[id] = p
		}
	}
	slices.SortFunc(r.places, func(a, b place) int { return strings.Compare(a.key, b.key) })
}

// placeKey is the same for slices whose devices can be reached from the same nodes.
func placeKey(slice *resourceapi.ResourceSlice) string {
	switch {
	case ptr.Deref(slice.Spec.AllNodes, false):
		return "all"
	case slice.Spec.NodeSelector != nil:
		return "selector " + slice.Spec.NodeSelector.String()
	}
	return "slice " + slice.Name
}

// reached reports whether a node may reach devices of a slice. What can't be made out is left to the allocator.
func (m *Manager) reached(slice *resourceapi.ResourceSlice, node *v1.Node) bool {
	matches := func(name *string, all *bool, selector *v1.NodeSelector) bool {
		matched, err := structured.NodeMatches(m.switches.Allocation(), node, ptr.Deref(name, ""), ptr.Deref(all, false), selector)
		return matched || err != nil
	}
	spec := &slice.Spec
	if !ptr.Deref(spec.PerDeviceNodeSelection, false) {
		return matches(spec.NodeName, spec.AllNodes, spec.NodeSelector)
	}
	return slices.ContainsFunc(spec.Devices, func(d resourceapi.Device) bool { return matches(d.NodeName, d.AllNodes, d.NodeSelector) })
}
