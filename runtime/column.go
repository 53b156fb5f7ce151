// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"math"
	"slices"
)

// verdict is what is known of a node: one of the constants, or the number of a rejection in a [statusTable].
type verdict uint32

const (
	unknown verdict = iota
	accepted
	vacant // there is no node in the slot
	firstRejection
)

// unknownScore is the score of a node that the plugin was not asked about.
const unknownScore = math.MinInt64

// filterColumn is what one Filter plugin said about the nodes for all pods of one key.
type filterColumn struct {
	position int // in the change log
	verdicts []verdict
}

// sync makes room for all slots and forgets what was known of nodes that changed.
func (c *filterColumn) sync(log *changeLog) {
	count := log.nodes.IndexCount()
	changed, ok := log.since(c.position)
	if !ok {
		clear(c.verdicts)
	}
	c.verdicts = extend(c.verdicts, count, unknown)
	for _, slot := range changed {
		c.verdicts[slot] = unknown
	}
	c.position = log.end()
}

func (c *filterColumn) bytes() int { return 4 * cap(c.verdicts) }

// scoreColumn is the raw scores that one Score plugin gave the nodes for all pods of one key.
type scoreColumn struct {
	position int // in the change log
	scores   []int64
}

func (c *scoreColumn) sync(log *changeLog) {
	count := log.nodes.IndexCount()
	changed, ok := log.since(c.position)
	if !ok {
		fill(c.scores, unknownScore)
	}
	c.scores = extend(c.scores, count, unknownScore)
	for _, slot := range changed {
		c.scores[slot] = unknownScore
	}
	c.position = log.end()
}

func (c *scoreColumn) bytes() int { return 8 * cap(c.scores) }

// extend makes a slice longer, with a value in the new places; it never makes it shorter.
func extend[T any](s []T, length int, value T) []T {
	old := len(s)
	if old >= length {
		return s
	}
	s = slices.Grow(s, length-old)[:length]
	fill(s[old:], value)
	return s
}

// sized returns working space of a length, with anything in it, in place of s if that is large enough.
func sized[T any](s []T, length int) []T { return slices.Grow(s[:0], length)[:length] }

func fill[T any](s []T, value T) {
	for i := range s {
		s[i] = value
	}
}
