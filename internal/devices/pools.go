// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"cmp"
	"maps"
	"slices"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/structured"
	"k8s.io/utils/ptr"
)

// poolID names a pool; pools of different drivers may have the same name.
type poolID struct{ driver, pool string }

func (a poolID) compare(b poolID) int {
	return cmp.Or(cmp.Compare(a.driver, b.driver), cmp.Compare(a.pool, b.pool))
}

// pool is what is known of a pool of devices: its slices, and what is allocated of it. A pool without either is forgotten.
type pool struct {
	id     poolID
	slices map[string]*resourceapi.ResourceSlice
	// sorted has the slices by name. It is replaced, and never changed.
	sorted []*resourceapi.ResourceSlice
	// members has the devices of the same slices by class.
	members *members
	// node is the only node that sees the pool; empty if it is shared, or has no slices.
	node string
	// content is a digest of the slices; see Kind. It is nil until it is asked for.
	content []byte
	// devices counts the claims that have a device to themselves.
	devices map[structured.DeviceID]int
	// shares counts the claims that have a share of a device, and consumed is what they have of it.
	shares   map[structured.SharedDeviceID]int
	consumed structured.ConsumedCapacityCollection
	// version changes with everything above.
	version uint64
}

func newPool(id poolID) *pool {
	return &pool{
		id:       id,
		members:  &members{},
		slices:   map[string]*resourceapi.ResourceSlice{},
		devices:  map[structured.DeviceID]int{},
		shares:   map[structured.SharedDeviceID]int{},
		consumed: structured.NewConsumedCapacityCollection(),
	}
}

func (p *pool) empty() bool { return len(p.slices) == 0 && len(p.devices) == 0 && len(p.shares) == 0 }

// shared reports whether more than one node may see the pool.
func (p *pool) shared() bool { return len(p.slices) > 0 && p.node == "" }

// arrange is called when the slices have changed.
func (p *pool) arrange() {
	p.sorted = slices.SortedFunc(maps.Values(p.slices), func(a, b *resourceapi.ResourceSlice) int {
		return cmp.Compare(a.Name, b.Name)
	})
	p.node, p.content, p.members = "", nil, &members{slices: p.sorted}
	for i, slice := range p.sorted {
		node := ptr.Deref(slice.Spec.NodeName, "")
		if node == "" || i > 0 && node != p.node {
			p.node = ""
			return
		}
		p.node = node
	}
}

// addTo adds what is allocated of the pool.
func (p *pool) addTo(state *structured.AllocatedState) {
	for id := range p.devices {
		state.AllocatedDevices.Insert(id)
	}
	for id := range p.shares {
		state.AllocatedSharedDeviceIDs.Insert(id)
	}
	for id, consumed := range p.consumed {
		state.AggregatedCapacity[id] = consumed.Clone()
	}
}

func newState() *structured.AllocatedState {
	return &structured.AllocatedState{
		AllocatedDevices:         sets.New[structured.DeviceID](),
		AllocatedSharedDeviceIDs: sets.New[structured.SharedDeviceID](),
		AggregatedCapacity:       structured.NewConsumedCapacityCollection(),
	}
}

// change counts one result of an allocation, or takes it back.
func (p *pool) change(result *resourceapi.DeviceRequestAllocationResult, by int, consumable bool) {
	device := structured.MakeDeviceID(result.Driver, result.Pool, result.Device)
	if !consumable || result.ShareID == nil {
		count(p.devices, device, by)
		return
	}
	count(p.shares, structured.MakeSharedDeviceID(device, result.ShareID), by)
	consumed := structured.NewDeviceConsumedCapacity(device, result.ConsumedCapacity)
	if by > 0 {
		p.consumed.Insert(consumed)
	} else {
		p.consumed.Remove(consumed)
	}
}

// count keeps no zeros.
func count[K comparable](counts map[K]int, key K, by int) {
	if counts[key] += by; counts[key] == 0 {
		delete(counts, key)
	}
}
