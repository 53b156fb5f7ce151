// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

// ChangedNodesPlugin is an optional interface, in addition to [FilterKeyPlugin], of Filter plugins whose answer about a node
// also depends on objects that belong to the node and that the node info does not have, such as its CSINode, and that can tell
// for which nodes these changed.
//
// Where it is implemented, pods with equal keys need to get equal answers only about nodes as they are in the snapshot. What is
// said of a node with pods added in thought, or removed, is not kept.
type ChangedNodesPlugin interface {
	FilterKeyPlugin
	// AppendChangedNodes appends the indexes of the nodes about which Filter may answer differently than at the time of the
	// call before, even though the snapshot does not list them as changed since; all of them if that is not known. It is
	// called at the beginning of a search, after PreFilter and before AppendFilterKey, unless Filter is to be skipped. One
	// search runs at a time.
	AppendChangedNodes(indexes []int, nodes IndexedSnapshot) []int
}
