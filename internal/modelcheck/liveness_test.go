// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package modelcheck

import (
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
)

// asleep returns the pods that are queued although they would fit, or could preempt, by what the API server knows (L1, L2). In
// a state that nothing but the environment changes there must be none, nor one that is in all of the states that go on
// following each other forever.
func (w *world) asleep() []string {
	found := w.staleNominations()
	pools := map[string]queuedPod{}
	for _, pod := range w.queue.queued() {
		pools[pod.key] = pod
	}
	for _, name := range slices.Sorted(maps.Keys(w.pods)) {
		pod := w.pods[name]
		queued, isQueued := pools[name]
		if pod.Spec.NodeName != "" || pod.DeletionTimestamp != nil || len(pod.Spec.SchedulingGates) > 0 || !isQueued ||
			queued.info.UnschedulablePlugins.Has("Checker") { // refused permission, for good
			continue
		}
		for _, node := range slices.Sorted(maps.Keys(w.nodes)) {
			switch {
			case w.fits(pod, w.nodes[node], false):
				found = append(found, fmt.Sprintf("L1: pod %s is %s, but fits on node %s", name, queued.pool, node))
			case w.fits(pod, w.nodes[node], true):
				found = append(found, fmt.Sprintf("L2: pod %s is %s, but can preempt on node %s", name, queued.pool, node))
			}
		}
	}
	return found
}

// staleNominations returns the pods that are nominated for another node than their status says. In the end, none is: a node
// is kept free for a pod whose nomination no component can see (S4).
func (w *world) staleNominations() []string {
	var found []string
	_, nodeOf := w.queue.nominations()
	for _, name := range slices.Sorted(maps.Keys(w.pods)) {
		pod := w.pods[name]
		if pod.Spec.NodeName == "" && pod.DeletionTimestamp == nil && nodeOf[pod.UID] != pod.Status.NominatedNodeName {
			found = append(found, fmt.Sprintf("S4: pod %s is nominated for %q, its status says %q", name, nodeOf[pod.UID], pod.Status.NominatedNodeName))
		}
	}
	return found
}

// fits reports whether a pod fits on a node, in addition to the pods there and those nominated for it that are as important; or, if
// preempting, in addition to those of them that it can't evict.
func (w *world) fits(pod *v1.Pod, node *v1.Node, preempting bool) bool {
	if node.Spec.Unschedulable || pod.Labels[ticketLabel] != "" && node.Labels[ticketLabel] == "" {
		return false
	}
	priority := corev1helpers.PodPriority(pod)
	var others []*v1.Pod
	for _, other := range w.pods {
		if other.Spec.NodeName == node.Name && (!preempting || corev1helpers.PodPriority(other) >= priority) {
			others = append(others, other)
		}
	}
	byNode, _ := w.queue.nominations()
	for _, other := range byNode[node.Name] {
		if other.UID != pod.UID && corev1helpers.PodPriority(other) >= priority {
			others = append(others, other)
		}
	}
	free := node.Status.Allocatable.Cpu().MilliValue() - cpu(pod)
	for _, other := range others {
		free -= cpu(other)
		if apart := pod.Labels[apartLabel]; apart != "" && apart == other.Labels[apartLabel] {
			return false
		}
	}
	return free >= 0
}
