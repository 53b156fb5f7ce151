// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package whatif answers questions about a cluster without changing it: does this pod fit, where, and what is in the way; which
// node is the best; where do these pods go; which pods would have to go for it; does everything on this node find a place
// elsewhere. It is for autoscalers, queueing systems, deschedulers and capacity planning. The answers are those of the scheduler:
// of all plugins at all extension points of a profile, with the configuration of the real one.
//
//	cluster, err := whatif.New(ctx, whatif.Options{Objects: objects})
//	defer cluster.Close()
//
//	fork := cluster.Fork()                    // as often as you like, and of forks too
//	err = fork.Add(node)                      // nodes, pods, volumes, claims, budgets: anything that plugins read
//	fit, err := fork.Fits(ctx, pod)           // fit.Nodes, or fit.Reason
//	placed, err := fork.Place(ctx, pods...)   // each finds those before it where they were put
//	err = fork.Commit()                       // or forget it
//
// # Where the objects come from
//
// Any objects will do: from a client, from informers' listers, or from files, which simulate.Load reads; simulate.Input.Objects
// returns them. [Options].Snapshot takes nodes and pods from a running scheduler's cache. To keep a cluster up to date, change it
// from the event handlers of informers: it is safe for concurrent use, and forks that are in use do not notice.
//
// Pods, nodes and other objects without a UID count as written by hand, and get the defaults of an API server. A copy of a pod
// that is to be another pod must not keep the UID.
//
// # What is exact, and what is not
//
// All nodes are looked at, whatever percentageOfNodesToScore says. Of equally good nodes, among which a scheduler chooses at random, the
// first by name is chosen, and so are pods to preempt of those that are equally important. Nominated pods count as in the scheduler, on
// the node in their status. Extenders are not asked: a configuration that has any is refused.
//
// A scheduler remembers a little of what was in its cluster before: how many nodes had an image when a node was last updated, that a
// host port was freed by one of two pods that had it. Here an answer depends on nothing but the objects. Where two nodes give
// an image different sizes, either may count.
//
// Nothing happens by itself: no controller creates pods, and none provisions volumes. A Permit plugin that asks to wait is not waited
// for. A plugin that keeps something to itself which is not in the objects of the cluster does so for whichever fork is asked about.
//
// # Plugins with clients of their own
//
// A plugin that makes clients and informers from the configuration in its handle finds the objects of the fork that is asked about,
// custom ones included, and its watches are told what differs when another is asked about. A question begins when the informers
// have handled that, so that it takes longer, and no other question is answered meanwhile; a program whose other
// goroutines are never idle is waited for half a second. Factories find an empty cluster, whose objects come afterwards.
//
// Put the definitions of custom resources among the objects. Without one a kind is known from its first object on, belongs to a
// namespace if one of its objects does, and has the plural by which plugins ask for it.
//
// # How a fork is made, and what a question costs
//
// The objects of a cluster are a persistent map: its versions share what they have in common. A fork is another reference to a
// version, a commit replaces the reference of the parent, and a fork that is dropped leaves nothing behind; so there is nothing that a
// rollback could fail to undo.
//
// Plugins are built once for a framework and read the cluster through its snapshot, its informers and its managers. So a cluster has
// replicas, each with frameworks of its own for all profiles, and with a cache, informers and managers that show one version of the
// objects at a time. A question takes a replica that is idle, preferably one that shows the right version, and brings it to the
// version of the fork by what differs: nodes and pods go through the cache as in a scheduler, and every object through the
// informers, whose handlers, those of plugins included, have run when the question begins. Plugins can't tell a replica from a
// scheduler's cluster in which these changes have just happened, so whatever they keep, and what the framework knows of their
// verdicts and scores, stays right by the same means as there, and a question costs what differs from the one before it on the
// same replica. Questions of different goroutines run at the same time on different replicas, of which there are as many as
// [Options].Concurrency says, each with the memory of a scheduler's cache.
//
// The alternative, listers that look up the fork in the context of a call, was not taken: factories hand out listers before there
// is a call, many plugins keep indexes of their own that informers' events maintain, and neither would know of forks.
package whatif
