// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"iter"
	"slices"
)

const (
	pageSize = 64
	// maxListed is up to how many numbers are kept in a list rather than in pages: the pods of a ReplicaSet, for example, are
	// on nodes far apart, each of which would need a page of its own.
	maxListed = 1024
)

// Sparse has a number for every small integer, most of which are zero and take no room: a few are a sorted list, many lie in
// pages. The zero value has zeros only.
type Sparse[T int32 | int64] struct {
	listed  []listedNumber[T]
	pages   []*[pageSize]T
	nonzero int
}

type listedNumber[T int32 | int64] struct {
	place  int32
	number T
}

// Nonzero is how many numbers are not zero.
func (s *Sparse[T]) Nonzero() int { return s.nonzero }

// find returns where a place is in the list, or belongs.
func (s *Sparse[T]) find(place int32) (int, bool) {
	from, to := 0, len(s.listed)
	for from < to {
		middle := (from + to) / 2
		if s.listed[middle].place < place {
			from = middle + 1
		} else {
			to = middle
		}
	}
	return from, from < len(s.listed) && s.listed[from].place == place
}

// At returns the number at a place.
func (s *Sparse[T]) At(place int32) T {
	if s.pages == nil {
		if at, found := s.find(place); found {
			return s.listed[at].number
		}
		return 0
	}
	if page := uint32(place) / pageSize; int(page) < len(s.pages) && s.pages[page] != nil {
		return s.pages[page][uint32(place)%pageSize]
	}
	return 0
}

// Add adds to the number at a place, and returns what it was before.
func (s *Sparse[T]) Add(place int32, delta T) (before T) {
	if delta == 0 {
		return s.At(place)
	}
	if s.pages == nil {
		at, found := s.find(place)
		switch {
		case found && s.listed[at].number+delta == 0:
			before = s.listed[at].number
			s.listed = slices.Delete(s.listed, at, at+1)
			s.nonzero--
			return before
		case found:
			before = s.listed[at].number
			s.listed[at].number += delta
			return before
		case len(s.listed) < maxListed:
			s.listed = slices.Insert(s.listed, at, listedNumber[T]{place: place, number: delta})
			s.nonzero++
			return 0
		}
		for _, each := range s.listed {
			*s.inPage(each.place) = each.number
		}
		s.listed = nil
	}
	number := s.inPage(place)
	before = *number
	*number += delta
	switch {
	case before == 0:
		s.nonzero++
	case *number == 0:
		s.nonzero--
	}
	return before
}

// inPage returns where the number of a place is.
func (s *Sparse[T]) inPage(place int32) *T {
	page := int(place) / pageSize
	for len(s.pages) <= page {
		s.pages = append(s.pages, nil)
	}
	if s.pages[page] == nil {
		s.pages[page] = new([pageSize]T)
	}
	return &s.pages[page][place%pageSize]
}

// All yields the numbers that are not zero, by their places.
func (s *Sparse[T]) All() iter.Seq2[int32, T] {
	return func(yield func(int32, T) bool) {
		for _, each := range s.listed {
			if !yield(each.place, each.number) {
				return
			}
		}
		for i, page := range s.pages {
			if page == nil {
				continue
			}
			for j, number := range page {
				if number != 0 && !yield(int32(i*pageSize+j), number) {
					return
				}
			}
		}
	}
}

// AddTo adds the numbers, times a factor, to those of a list long enough for all that are not zero.
func (s *Sparse[T]) AddTo(list []int64, factor int64) {
	for _, each := range s.listed {
		list[each.place] += int64(each.number) * factor
	}
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
	bytes := 8*cap(s.pages) + 16*cap(s.listed)
	for _, page := range s.pages {
		if page != nil {
			bytes += pageSize * 8
		}
	}
	return bytes
}
