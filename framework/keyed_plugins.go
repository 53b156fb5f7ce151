// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"encoding/binary"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// FilterKeyPlugin is an optional interface of Filter plugins whose answer about a node depends on a part of the pod and
// on the node info, and on nothing else: no other node, no other object, no clock; nor, within the node, on the
// heartbeat times of conditions, the resource version or the managed fields. Their verdicts are cached, and only the
// nodes that changed are asked about again, through the official Filter.
type FilterKeyPlugin interface {
	fwk.FilterPlugin
	// AppendFilterKey appends what Filter reads of the pod, such that pods with equal keys get equal answers, and
	// returns false if there is no such key for this pod; it is then asked about every node in every cycle. It is
	// called after PreFilter with the state that PreFilter has filled, and must not write to it.
	AppendFilterKey(key []byte, state fwk.CycleState, pod *v1.Pod) (_ []byte, ok bool)
}

// BatchFilterPlugin is an optional interface of Filter plugins that answer about many nodes in one call faster than in
// many. It does not change what is answered.
type BatchFilterPlugin interface {
	fwk.FilterPlugin
	// FilterBatch sets statuses[i], which is nil before, to what Filter would say of the node in indexes[i]. The statuses
	// may be shared. It is called concurrently for different node indexes of one cycle. A failure is returned.
	FilterBatch(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes IndexedSnapshot, indexes []int, statuses []*fwk.Status) *fwk.Status
}

// Scale is how the raw scores of a plugin become scores from 0 to 100.
type Scale int

// The scales that the score cache knows.
const (
	// ScaleNone takes scores as they are.
	ScaleNone Scale = iota
	// ScaleToHighest is DefaultNormalizeScore: the highest score among the nodes that take the pod becomes 100.
	ScaleToHighest
	// ScaleToHighestReversed is DefaultNormalizeScore reversed: the highest becomes 0.
	ScaleToHighestReversed
)

// ScoreKeyPlugin is an optional interface of Score plugins whose raw score of a node depends on a part of the pod and on
// the node info, and on nothing else, as with [FilterKeyPlugin], and whose NormalizeScore is one of the scales. PreScore of such
// a plugin must not read the nodes that it is given. Score may be asked about nodes that Filter plugins reject, and must not fail there.
type ScoreKeyPlugin interface {
	fwk.ScorePlugin
	// AppendScoreKey is as [FilterKeyPlugin.AppendFilterKey]; it is called after PreScore.
	AppendScoreKey(key []byte, state fwk.CycleState, pod *v1.Pod) (_ []byte, ok bool)
	// Scale is how raw scores become final ones.
	Scale() Scale
}

// BatchScorePlugin is an optional interface in addition to [ScoreKeyPlugin] for plugins that score many nodes in one call faster
// than in many.
type BatchScorePlugin interface {
	ScoreKeyPlugin
	// ScoreBatch sets scores[i] to what Score would say of the node in indexes[i]. It is called concurrently for different
	// node indexes of one cycle.
	ScoreBatch(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes IndexedSnapshot, indexes []int, scores []int64) *fwk.Status
}

// ScoreAllPlugin is an optional interface of Score plugins whose score of a node depends on other nodes, and which keep
// counts that make it cheap to score all of them at once. The result is the same as that of PreScore, Score and
// NormalizeScore, which are not called where this is.
type ScoreAllPlugin interface {
	fwk.ScorePlugin
	// PreScoreAll prepares for ScoreAll without the list of nodes that take the pod. Skip means that all scores are
	// zero.
	PreScoreAll(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes IndexedSnapshot) *fwk.Status
	// ScoreAll sets scores[i] to the final score, from 0 to 100, of the node in indexes[i]; the indexes are those of all
	// nodes that take the pod.
	ScoreAll(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes IndexedSnapshot, indexes []int, scores []int64) *fwk.Status
}

// NodeGroups says which nodes a plugin treats alike in one cycle: those with the same value of every label in Labels, of which a
// missing label is one, unless they are among the Exceptions. It is the sum of what several plugins said.
type NodeGroups struct {
	// Labels are names of labels, in any order, perhaps with duplicates. They should have few values: one that nearly every
	// node has a value of its own for makes as many groups.
	Labels []string
	// Exceptions are node indexes, in any order, perhaps with duplicates. About these the plugin is asked one by one.
	Exceptions []int
}

// FilterGroupsPlugin is an optional interface in addition to [BatchFilterPlugin] for plugins that don't tell most nodes apart. It
// is then enough to ask about one node of each group.
type FilterGroupsPlugin interface {
	BatchFilterPlugin
	// AddFilterGroups adds to groups what FilterBatch reads of nodes in this cycle, and returns false if it can't say: then
	// FilterBatch is called for all nodes. It is called after PreFilter.
	AddFilterGroups(groups *NodeGroups, state fwk.CycleState, pod *v1.Pod, nodes IndexedSnapshot) bool
}

// ScoreGroupsPlugin is an optional interface in addition to [ScoreAllPlugin] for plugins that don't tell most nodes apart. It is
// then enough to score one node of each group.
type ScoreGroupsPlugin interface {
	ScoreAllPlugin
	// AddScoreGroups adds to groups what ScoreAll reads of nodes in this cycle, and returns false if it can't say: then ScoreAll
	// is called for all nodes that take the pod. It is called after PreScoreAll.
	AddScoreGroups(groups *NodeGroups, state fwk.CycleState, pod *v1.Pod, nodes IndexedSnapshot) bool
	// ScoreGroups is as ScoreAll, but the node in indexes[i] stands for counts[i] nodes, all of which take the pod and have
	// its score.
	ScoreGroups(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes IndexedSnapshot, indexes, counts []int, scores []int64) *fwk.Status
}

// AppendKeyString appends a string to a key such that different series of strings and integers give different keys.
func AppendKeyString(key []byte, s string) []byte {
	return append(binary.AppendUvarint(key, uint64(len(s))), s...)
}

// AppendKeyInt appends an integer to a key; see [AppendKeyString].
func AppendKeyInt(key []byte, i int64) []byte { return binary.AppendVarint(key, i) }

// CurrentImages is an optional interface of a snapshot whose node infos can be kept up to date about images without counting as
// changed.
type CurrentImages interface {
	// CurrentImage returns the size of an image, and how many nodes have it; the zero value if none has. It returns false if node infos
	// show another number, that of when the node changed last.
	CurrentImage(name string) (image fwk.ImageStateSummary, current bool)
}
