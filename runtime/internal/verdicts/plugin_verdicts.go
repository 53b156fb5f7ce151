// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package verdicts holds what plugins said about nodes: the verdicts and scores of one plugin, a log of the nodes that changed
// since, a table of rejections, and a tree that finds the highest of many totals. All of it is indexed by node index, see
// framework.IndexedSnapshot, and none of it is safe for concurrent use.
package verdicts

import (
	"math"
	"reflect"
	"slices"
)

// Verdict is what is known of a node: one of the constants, or the number of a rejection in a [StatusTable].
type Verdict uint32

const (
	Unknown Verdict = iota
	Accepted
	NoNode // no node has the index
	FirstRejection
)

// UnknownScore is the score of a node that the plugin was not asked about.
const UnknownScore = math.MinInt64

// PluginVerdicts is what one Filter plugin said about the nodes, for all pods with one key.
type PluginVerdicts = byNode[Verdict]

// PluginScores is the raw scores that one Score plugin gave the nodes, for all pods with one key.
type PluginScores = byNode[int64]

// NewPluginVerdicts returns verdicts that are all unknown.
func NewPluginVerdicts() *PluginVerdicts { return &PluginVerdicts{unknown: Unknown, position: -1} }

// NewPluginScores returns scores that are all unknown.
func NewPluginScores() *PluginScores { return &PluginScores{unknown: UnknownScore, position: -1} }

// byNode is what a plugin said about the nodes.
type byNode[T any] struct {
	ByNode   []T // by node index
	unknown  T
	position int // in the change log
}

// Sync makes room for all nodes and forgets what was said about nodes that changed.
func (n *byNode[T]) Sync(log *ChangeLog) {
	count := log.nodes.IndexCount()
	changed, ok := log.Since(n.position)
	if !ok {
		Fill(n.ByNode, n.unknown)
	}
	n.ByNode = Extend(n.ByNode, count, n.unknown)
	for _, nodeIndex := range changed {
		n.ByNode[nodeIndex] = n.unknown
	}
	n.position = log.End()
}

// Bytes is the size of what is kept.
func (n *byNode[T]) Bytes() int { return int(reflect.TypeFor[T]().Size()) * cap(n.ByNode) }

// Extend makes a slice longer, with a value in the new places; it never makes it shorter.
func Extend[T any](s []T, length int, value T) []T {
	old := len(s)
	if old >= length {
		return s
	}
	s = slices.Grow(s, length-old)[:length]
	Fill(s[old:], value)
	return s
}

// Fill sets every element.
func Fill[T any](s []T, value T) {
	for i := range s {
		s[i] = value
	}
}
