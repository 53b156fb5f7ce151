// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package topology

const pageSize = 64

// Sparse has a number for every small integer, most of which are zero and take no room. The zero value has zeros only.
type Sparse[T int32 | int64] struct{ pages []*[pageSize]T }

// At returns the number at a place.
func (s *Sparse[T]) At(place int32) T {
	if page := uint32(place) / pageSize; int(page) < len(s.pages) && s.pages[page] != nil {
		return s.pages[page][uint32(place)%pageSize]
	}
	return 0
}

// Add adds to the number at a place, and returns what it was before.
func (s *Sparse[T]) Add(place int32, delta T) (before T) {
	page := int(place) / pageSize
	if delta == 0 {
		return s.At(place)
	}
	for len(s.pages) <= page {
		s.pages = append(s.pages, nil)
	}
	if s.pages[page] == nil {
		s.pages[page] = new([pageSize]T)
	}
	number := &s.pages[page][place%pageSize]
	before = *number
	*number += delta
	return before
}

// AddTo adds the numbers, times a factor, to those of a list long enough for all that are not zero.
func (s *Sparse[T]) AddTo(list []int64, factor int64) {
	for i, page := range s.pages {
		if page == nil {
			continue
		}
		part := list[min(i*pageSize, len(list)):min((i+1)*pageSize, len(list))]
		for j := range part {
			part[j] += int64(page[j]) * factor
		}
	}
}

// Bytes is roughly how much memory is taken.
func (s *Sparse[T]) Bytes() int {
	bytes := 8 * cap(s.pages)
	for _, page := range s.pages {
		if page != nil {
			bytes += pageSize * 8
		}
	}
	return bytes
}
