// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package modelcheck

import v1 "k8s.io/api/core/v1"

func podInstances() []*instance {
	finalizer := func(pod *v1.Pod) { pod.Finalizers = []string{"example.com/wait"} }
	victims := []*v1.Pod{bound("a", "600m", 0, "n1"), bound("b", "600m", 0, "n2"), pod("p", "600m", 10).Build()}
	return []*instance{
		{
			name: "preemption", lag: handlersLag, keepsCapacity: true, nodes: twoNodes(), pods: victims, fails: 1,
			changes: []change{remove("a"), remove("b"), cordon("n2"), uncordon("n2")},
			pauses:  []string{"snapshot", "evict", "patch"},
		},
		{
			name: "the preemptor changes", lag: handlersLag, keepsCapacity: true, nodes: twoNodes(), pods: victims, fails: 1,
			changes: []change{remove("p"), recreate(pod("p", "600m", 10).Build()), annotate("p"), create(pod("q", "600m", 5).Build())},
			pauses:  []string{"evict", "patch", "failed"},
		},
		{
			name: "preemption, seen late", lag: watchLags, keepsCapacity: true, nodes: twoNodes(), pods: victims, fails: 1,
			changes: []change{remove("a"), cordon("n1"), shrink("p", "300m"), create(pod("q", "600m", 20).Build())},
			pauses:  []string{"evict", "failed"},
		},
		{
			name: "several victims", lag: handlersLag, keepsCapacity: true, nodes: twoNodes()[:1], fails: 1,
			pods:    []*v1.Pod{bound("a", "500m", 0, "n1"), bound("b", "500m", 0, "n1"), pod("p", "1", 10).Build()},
			changes: []change{remove("a"), remove("b"), addNode(computer("n2", "1").Build())},
			pauses:  []string{"evict", "patch"},
		},
		{
			name: "victims that are being bound", lag: handlersLag, keepsCapacity: true, nodes: twoNodes()[:1],
			pods:    []*v1.Pod{pod("a", "600m", 0).Build()},
			changes: []change{create(pod("p", "600m", 10).Build()), remove("a"), addNode(computer("n2", "1").Build())}, fails: 1,
			pauses: []string{"prebind", "bind", "evict", "unreserve"},
		},
		{
			name: "gates", lag: handlersLag, keepsCapacity: true, nodes: twoNodes()[:1],
			pods: []*v1.Pod{
				pod("a", "600m", 0).SchedulingGate("one").Build(), pod("b", "600m", 5).SchedulingGate("one").NominatedNode("n1").Build(),
				pod("c", "600m", 0).Build(),
			},
			changes: []change{ungate("a"), ungate("b"), annotate("a"), remove("b"), addNode(computer("n2", "1").Build())},
			pauses:  []string{"snapshot", "failed"},
		},
		{
			name: "another pod takes the name", lag: handlersLag, keepsCapacity: true, nodes: twoNodes()[:1],
			pods: []*v1.Pod{pod("a", "600m", 0).Build(), pod("b", "600m", 0).Build()},
			changes: []change{
				again(2, recreate(pod("a", "600m", 0).Build())), remove("b"), annotate("a"), create(pod("c", "600m", 5).Build()),
			},
			pauses: []string{"snapshot", "failed", "looked up", "bind", "patch"},
		},
		{
			name: "another pod takes the name, seen late", lag: watchLags, keepsCapacity: true, nodes: twoNodes()[:1],
			pods: []*v1.Pod{pod("a", "600m", 0).Build(), pod("b", "600m", 0).Build()},
			changes: []change{
				again(2, recreate(pod("a", "600m", 0).Build())), relist(), annotate("a"), create(pod("c", "600m", 5).Build()),
			},
			pauses: []string{"snapshot", "failed", "bind"},
		},
		{
			name: "bindings fail", lag: handlersLag, nodes: twoNodes()[:1], fails: 2, loses: 1,
			pods:    []*v1.Pod{pod("a", "600m", 0).Build(), pod("b", "600m", 0).Build(), pod("c", "300m", 0).Build()},
			changes: []change{remove("a"), bindElsewhere("b", "n1"), annotate("a")},
			pauses:  []string{"bind", "get", "unreserve", "failed", "looked up"},
		},
		{
			name: "bindings fail, seen late", lag: watchLags, nodes: twoNodes(), fails: 1, loses: 1,
			pods:    []*v1.Pod{pod("a", "600m", 0).Build(), pod("b", "600m", 0).Build(), pod("c", "600m", 0).Build()},
			changes: []change{remove("a"), bindElsewhere("b", "n1"), removeNode("n2")},
			pauses:  []string{"bind", "get", "failed"},
		},
		{
			name: "permission", lag: handlersLag, keepsCapacity: true, nodes: twoNodes()[:1],
			pods: []*v1.Pod{
				pod("a", "600m", 0).Label(permitLabel, "x").With(finalizer).Build(), pod("b", "600m", 0).Label(permitLabel, "x").Build(),
				pod("c", "300m", 0).Build(),
			},
			changes: []change{reject("a"), remove("a"), reject("b"), annotate("b"), create(pod("p", "600m", 10).Build())},
			pauses:  []string{"failed", "unreserve", "evict"},
		},
		{
			name: "a pod goes while the failure handler has it", lag: handlersLag, nodes: twoNodes()[:1],
			pods:    []*v1.Pod{pod("a", "2", 0).Build(), pod("b", "2", 0).Build()},
			changes: []change{remove("a"), bindElsewhere("b", "n1")},
			pauses:  []string{"looked up"},
		},
		{
			name: "an update while the failure handler has the pod", lag: handlersLag, keepsCapacity: true, nodes: twoNodes()[:1],
			pods:    []*v1.Pod{pod("a", "2", 0).Build(), pod("b", "2", 0).Build()},
			changes: []change{shrink("a", "300m"), shrink("b", "300m")},
			pauses:  []string{"looked up"},
		},
		{
			name: "updates in mid-attempt", lag: handlersLag, keepsCapacity: true, nodes: twoNodes()[:1],
			pods: []*v1.Pod{
				pod("a", "2", 0).Build(), pod("b", "2", 0).Label(ticketLabel, "x").Build(), bound("c", "600m", 0, "n1"),
			},
			changes: []change{shrink("a", "300m"), relabel("b"), shrink("b", "300m"), annotate("a"), shrink("c", "300m")},
			pauses:  []string{"snapshot", "failed", "looked up"},
		},
	}
}
