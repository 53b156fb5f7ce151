// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import "slices"

// zoneOrder arranges node indexes by the zones of their nodes: zones in the order in which they appeared, and within a zone
// nodes in the order in which they came. The zero value is empty.
type zoneOrder struct {
	zones []zone
	size  int
}

type zone struct {
	key     string
	indexes []int
}

func (o *zoneOrder) find(key string) int {
	return slices.IndexFunc(o.zones, func(z zone) bool { return z.key == key })
}

// add appends a node index that is in no zone to the zone with the key, which may be new.
func (o *zoneOrder) add(key string, index int) {
	at := o.find(key)
	if at < 0 {
		at = len(o.zones)
		o.zones = append(o.zones, zone{key: key})
	}
	o.zones[at].indexes = append(o.zones[at].indexes, index)
	o.size++
}

// remove takes a node index out of its zone, and the zone out of the order when it was the last one. It reports whether the
// node index was there.
func (o *zoneOrder) remove(key string, index int) bool {
	at := o.find(key)
	if at < 0 {
		return false
	}
	i := slices.Index(o.zones[at].indexes, index)
	if i < 0 {
		return false
	}
	o.zones[at].indexes = slices.Delete(o.zones[at].indexes, i, i+1)
	if len(o.zones[at].indexes) == 0 {
		o.zones = slices.Delete(o.zones, at, at+1)
	}
	o.size--
	return true
}

// list returns all node indexes: the first of every zone, then the second of every zone, and so on, passing over zones that
// have no more.
func (o *zoneOrder) list() []int {
	result := make([]int, 0, o.size)
	remaining := make([][]int, len(o.zones))
	for i, z := range o.zones {
		remaining[i] = z.indexes
	}
	for len(remaining) > 0 {
		for i, indexes := range remaining {
			result = append(result, indexes[0])
			remaining[i] = indexes[1:]
		}
		remaining = slices.DeleteFunc(remaining, func(indexes []int) bool { return len(indexes) == 0 })
	}
	return result
}
