// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"slices"
	"strings"
)

// maxSuggestLength bounds the names that Suggest compares, so that a hostile
// input cannot make it slow.
const maxSuggestLength = 100

// Suggest returns the candidate that name is most likely a misspelling of, or ""
// if none is close. Letter case counts least; of equally close candidates the
// alphabetically first is taken.
func Suggest(name string, candidates []string) string {
	if name == "" || len(name) > maxSuggestLength {
		return ""
	}
	folded := strings.ToLower(name)
	best, bestDistance := "", tolerance(len(name))+1
	for _, candidate := range slices.Sorted(slices.Values(candidates)) {
		if candidate == "" || candidate == name || len(candidate) > maxSuggestLength {
			continue
		}
		distance := editDistance(folded, strings.ToLower(candidate))
		if distance < bestDistance {
			best, bestDistance = candidate, distance
		}
	}
	return best
}

// tolerance is how many edits a name of this length may be away.
func tolerance(length int) int {
	switch {
	case length <= 3:
		return 1
	case length <= 8:
		return 2
	}
	return length / 4
}

// editDistance counts the insertions, deletions, replacements and swaps of
// neighbours that turn a into b.
func editDistance(a, b string) int {
	left, right := []rune(a), []rune(b)
	beforePrevious := make([]int, len(right)+1)
	previous := make([]int, len(right)+1)
	current := make([]int, len(right)+1)
	for j := range previous {
		previous[j] = j
	}
	for i := 1; i <= len(left); i++ {
		current[0] = i
		for j := 1; j <= len(right); j++ {
			replace := previous[j-1]
			if left[i-1] != right[j-1] {
				replace++
			}
			current[j] = min(previous[j]+1, current[j-1]+1, replace)
			if i > 1 && j > 1 && left[i-1] == right[j-2] && left[i-2] == right[j-1] {
				current[j] = min(current[j], beforePrevious[j-2]+1)
			}
		}
		beforePrevious, previous, current = previous, current, beforePrevious
	}
	return previous[len(right)]
}
