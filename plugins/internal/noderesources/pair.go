// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package noderesources

// Pair has the places of two resources in a list of weighted ones: the only two of the list that are not scalar, which are
// CPU and memory in most profiles. Scores of many nodes are worked out fast for these. The zero value is no pair.
type Pair [2]int

// FindPair returns the pair of a list, and no pair if the list has fewer resources that are not scalar, or more.
func FindPair(resources []WeightedResource) Pair {
	var pair Pair
	count := 0
	for i := range resources {
		if resources[i].scalar {
			continue
		}
		if count < len(pair) {
			pair[count] = i
		}
		count++
	}
	if count != len(pair) {
		return Pair{}
	}
	return pair
}

// Of picks the amounts of the pair from those of the whole list. It returns false if these are not all that count: there
// is no pair, or the pod asks for a scalar resource.
func (p Pair) Of(amounts []int64) (requested [2]int64, ok bool) {
	if p == (Pair{}) {
		return requested, false
	}
	for i, amount := range amounts {
		if amount != 0 && i != p[0] && i != p[1] {
			return requested, false
		}
	}
	return [2]int64{amounts[p[0]], amounts[p[1]]}, true
}
