// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"slices"

	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// nodeList is a list of nodes that is handed out. The slice that callers get belongs to them: kube-scheduler lets plugins
// sort it in place, and shows the next plugin the list as the one before left it. So there are two, and what callers do to
// theirs never reaches the other. The zero value is empty.
type nodeList struct {
	nodes []fwk.NodeInfo
	// public has the same nodes for callers, who may have changed it.
	public []fwk.NodeInfo
	// changed is true once public was found to differ from nodes in more than what is written at the moment.
	changed bool
	// compared is where the next comparison of the two begins.
	compared int
}

// newNodeList returns a list of the given nodes, which it keeps.
func newNodeList(nodes []fwk.NodeInfo) nodeList {
	return nodeList{nodes: nodes, public: slices.Clone(nodes)}
}

// share returns the list for callers. An append to it makes a copy.
func (l *nodeList) share() []fwk.NodeInfo { return slices.Clip(l.public) }

// replace puts another state of the same node in its place.
func (l *nodeList) replace(at int, node fwk.NodeInfo) {
	l.compare(at)
	l.nodes[at], l.public[at] = node, node
}

// insert makes place for a node.
func (l *nodeList) insert(at int, node fwk.NodeInfo) {
	l.nodes = slices.Insert(l.nodes, at, node)
	l.public = slices.Insert(l.public, at, node)
}

// remove takes a node out.
func (l *nodeList) remove(at int) {
	l.compare(at)
	l.nodes = slices.Delete(l.nodes, at, at+1)
	l.public = slices.Delete(l.public, at, at+1)
}

func (l *nodeList) compare(at int) {
	public, _ := l.public[at].(*framework.NodeInfo) // to compare interfaces takes a call
	node, _ := l.nodes[at].(*framework.NodeInfo)
	if public != node {
		l.changed = true
	}
}

// comparedAtOnce is how many nodes an update compares that it does not write.
const comparedAtOnce = 64

// restore undoes what callers have done to their slice, if it is known that they did something. A list that was only
// reordered has all nodes in their present state afterwards: where public and nodes agree in all places written, the nodes
// written stand nowhere else. Only slices with nodes missing, or twice, may need more than one update to be noticed.
func (l *nodeList) restore() {
	for range min(comparedAtOnce, len(l.nodes)) {
		if l.compared++; l.compared >= len(l.nodes) {
			l.compared = 0
		}
		l.compare(l.compared)
	}
	if l.changed {
		copy(l.public, l.nodes)
		l.changed = false
	}
}
