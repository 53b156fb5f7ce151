// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package verdicts holds what plugins said about nodes: the verdicts and scores of one plugin, a log of the nodes that changed
// since, a table of rejections, and a tree that finds the highest of many totals. All of it is indexed by node index, see
// framework.IndexedSnapshot, and none of it is safe for concurrent use.
package verdicts

import (
	"math"
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
type PluginVerdicts struct {
	ByNode   []Verdict // by node index
	position int       // in the change log
}

// NewPluginVerdicts returns verdicts that are all unknown.
func NewPluginVerdicts() *PluginVerdicts { return &PluginVerdicts{position: -1} }

// Sync makes room for all nodes and forgets the verdicts on nodes that changed.
func (v *PluginVerdicts) Sync(log *ChangeLog) {
	count := log.nodes.IndexCount()
	changed, ok := log.Since(v.position)
	if !ok {
		clear(v.ByNode)
	}
	v.ByNode = Extend(v.ByNode, count, Unknown)
	for _, nodeIndex := range changed {
		v.ByNode[nodeIndex] = Unknown
	}
	v.position = log.End()
}

// Bytes is the size of the verdicts.
func (v *PluginVerdicts) Bytes() int { return 4 * cap(v.ByNode) }

// PluginScores is the raw scores that one Score plugin gave the nodes, for all pods with one key.
type PluginScores struct {
	ByNode   []int64 // by node index
	position int     // in the change log
}

// NewPluginScores returns scores that are all unknown.
func NewPluginScores() *PluginScores { return &PluginScores{position: -1} }

// Sync makes room for all nodes and forgets the scores of nodes that changed.
func (s *PluginScores) Sync(log *ChangeLog) {
	count := log.nodes.IndexCount()
	changed, ok := log.Since(s.position)
	if !ok {
		Fill(s.ByNode, UnknownScore)
	}
	s.ByNode = Extend(s.ByNode, count, UnknownScore)
	for _, nodeIndex := range changed {
		s.ByNode[nodeIndex] = UnknownScore
	}
	s.position = log.End()
}

// Bytes is the size of the scores.
func (s *PluginScores) Bytes() int { return 8 * cap(s.ByNode) }

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
