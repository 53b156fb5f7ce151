// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package modelcheck

import (
	v1 "k8s.io/api/core/v1"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// instance is a small cluster, and what may happen to it.
type instance struct {
	name  string
	lag   lag
	nodes []*v1.Node
	pods  []*v1.Pod
	// settled has the exploration begin when everything has happened that happens by itself.
	settled bool
	// changes can happen at any time, in any order. fails and loses are how many API calls can fail, and how many can work
	// although the scheduler gets an error.
	changes      []change
	fails, loses int
	// pauses are the places in cycles and evictions where other steps can come between.
	pauses []string
	// plugins are in-tree plugins in addition to those that every instance has.
	plugins []string
	// eventLog is how many events are kept for pods in flight; zero means the default.
	eventLog int
	// keepsCapacity is set if nothing but the scheduler can put too many pods on a node.
	keepsCapacity bool
}

// lag says what of the world the scheduler knows later than the API server.
type lag int

const (
	// handlersLag has listers return what the API server has, while the event handlers know less.
	handlersLag lag = iota
	// watchLags has both know the same, which may be old.
	watchLags
)

// twoNodes are nodes with one core each.
func twoNodes() []*v1.Node {
	return []*v1.Node{computer("n1", "1").Build(), computer("n2", "1").Build()}
}

// instances returns all instances: first those in which the cluster changes, then those in which pods do.
func instances() []*instance {
	return append(clusterInstances(), podInstances()...)
}

func clusterInstances() []*instance {
	full := []*v1.Pod{bound("a", "600m", 0, "n1"), bound("b", "600m", 0, "n2"), pod("c", "600m", 0).Build()}
	pending := []*v1.Pod{pod("a", "600m", 0).Build(), pod("b", "600m", 0).Build(), pod("c", "600m", 0).Build()}
	return []*instance{
		{
			name: "a pod ends in mid-attempt", lag: handlersLag, keepsCapacity: true, nodes: twoNodes(), pods: full,
			changes: []change{remove("a"), cordon("n1"), uncordon("n1"), shrink("b", "300m")},
			pauses:  []string{"snapshot", "failed", "looked up"},
		},
		{
			name: "nodes come and go", lag: watchLags, keepsCapacity: true, nodes: twoNodes()[:1], pods: pending,
			changes: []change{addNode(computer("n2", "1").Build()), removeNode("n1"), cordon("n2"), uncordon("n2")},
			pauses:  []string{"snapshot", "bind"},
		},
		{
			name: "nodes change in mid-attempt", lag: handlersLag, nodes: twoNodes(),
			pods: []*v1.Pod{
				pod("a", "600m", 0).Label(ticketLabel, "x").Build(), pod("b", "2", 0).Build(), pod("c", "300m", 0).Label(ticketLabel, "x").Build(),
			},
			changes: []change{labelNode("n1", "color"), labelNode("n1", ticketLabel), resize("n2", "2"), annotate("b")},
			pauses:  []string{"snapshot", "failed"},
		},
		{
			name: "waiting pods of several classes", lag: handlersLag, nodes: twoNodes(), settled: true,
			pods: []*v1.Pod{
				pod("a", "600m", 0).Label(ticketLabel, "x").Build(), pod("b", "2", 0).Build(), pod("c", "300m", 0).Label(ticketLabel, "x").Build(),
			},
			changes: []change{labelNode("n1", ticketLabel), labelNode("n2", "color"), resize("n2", "2")},
			pauses:  []string{"snapshot"},
		},
		{
			name: "a log of one event", lag: handlersLag, keepsCapacity: true, nodes: twoNodes(), pods: full, eventLog: 1,
			changes: []change{remove("a"), labelNode("n1", "color"), labelNode("n2", "color"), annotate("c"), shrink("b", "300m")},
			pauses:  []string{"snapshot", "failed", "patch"},
		},
		{
			name: "neighbours that repel", lag: handlersLag, plugins: []string{"InterPodAffinity"}, nodes: twoNodes(), keepsCapacity: true,
			pods: []*v1.Pod{
				apart("a").Node("n1").Build(), apart("b").Node("n2").Build(), apart("c").Build(),
			},
			changes: []change{remove("a"), remove("b"), cordon("n1"), uncordon("n1")},
			pauses:  []string{"snapshot", "failed", "patch"},
		},
		{
			name: "watches break", lag: watchLags, keepsCapacity: true, nodes: twoNodes(), pods: full,
			changes: []change{again(2, relist()), remove("a"), recreate(pod("c", "600m", 0).Build()), remove("c")},
			pauses:  []string{"snapshot", "bind", "failed"},
		},
	}
}

func apart(name string) objects.PodBuilder {
	return pod(name, "100m", 0).Label(apartLabel, "x").PodAntiAffinity("kubernetes.io/hostname", apartLabel+"=x")
}
