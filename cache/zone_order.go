// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import "slices"

// zoneOrder arranges slots by the zones of their nodes: zones in the order in which they appeared, and within a zone
// nodes in the order in which they came. The zero value is empty.
type zoneOrder struct {
	zones []zone
	size  int
}

type zone struct {
	key   string
	slots []int
}

func (o *zoneOrder) find(key string) int {
	return slices.IndexFunc(o.zones, func(z zone) bool { return z.key == key })
}

// add appends a slot that is in no zone to the zone with the key, which may be new.
func (o *zoneOrder) add(key string, slot int) {
	at := o.find(key)
	if at < 0 {
		at = len(o.zones)
		o.zones = append(o.zones, zone{key: key})
	}
	o.zones[at].slots = append(o.zones[at].slots, slot)
	o.size++
}

// remove takes a slot out of its zone, and the zone out of the order when it was the last one. It tells whether the
// slot was there.
func (o *zoneOrder) remove(key string, slot int) bool {
	at := o.find(key)
	if at < 0 {
		return false
	}
	i := slices.Index(o.zones[at].slots, slot)
	if i < 0 {
		return false
	}
	o.zones[at].slots = slices.Delete(o.zones[at].slots, i, i+1)
	if len(o.zones[at].slots) == 0 {
		o.zones = slices.Delete(o.zones, at, at+1)
	}
	o.size--
	return true
}

// list returns all slots: the first of every zone, then the second of every zone, and so on, passing over zones that
// have no more.
func (o *zoneOrder) list() []int {
	result := make([]int, 0, o.size)
	remaining := make([][]int, len(o.zones))
	for i, z := range o.zones {
		remaining[i] = z.slots
	}
	for len(remaining) > 0 {
		for i, slots := range remaining {
			result = append(result, slots[0])
			remaining[i] = slots[1:]
		}
		remaining = slices.DeleteFunc(remaining, func(slots []int) bool { return len(slots) == 0 })
	}
	return result
}
