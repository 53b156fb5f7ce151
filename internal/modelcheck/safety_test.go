// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package modelcheck

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rouse-scheduler/rouse/queue"
)

// violations returns what is wrong in the state; the numbers are those of docs/requeueing.md.
func (w *world) violations() []string {
	found := slices.Clone(w.problems)
	add := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	queued := w.queue.queued()
	w.checkPools(queued, add)
	w.checkPlaces(queued, add)
	w.checkInFlight(add)
	w.checkNominations(add)
	if w.instance.keepsCapacity {
		w.checkCapacity(add)
	}
	return found
}

// checkPools checks S1, inside of the queue: each pod is in the one structure that its pool says.
func (w *world) checkPools(queued []queuedPod, add func(string, ...any)) {
	var active, backoff, waiting, index []string
	gated := 0
	for _, pod := range queued {
		if pod.key != pod.info.Pod.Name {
			add("S1: pod %s is queued under the name %s", pod.info.Pod.Name, pod.key)
		}
		switch pod.pool {
		case queue.PoolActive:
			active = append(active, pod.key)
		case queue.PoolBackoff:
			backoff = append(backoff, pod.key)
		default:
			waiting = append(waiting, pod.key)
			if (pod.pool == queue.PoolGated) != pod.info.Gated() {
				add("S1: pod %s is in the pool %q with the gating plugin %q", pod.key, pod.pool, pod.info.GatingPlugin)
			}
			if pod.pool == queue.PoolGated {
				gated++
			}
			for _, plugin := range pod.info.RejectorPlugins().UnsortedList() {
				index = append(index, fmt.Sprintf("%s by {%s %s} gate %s pending %t", pod.key, pod.info.Pod.Spec.SchedulerName, plugin,
					pod.info.GatingPlugin, pod.info.PendingPlugins.Has(plugin)))
			}
		}
	}
	slices.Sort(index)
	for _, structure := range []struct {
		name      string
		got, want []string
	}{
		{"active heap", names(w.queue.active), active},
		{"backoff heaps", append(names(w.queue.backoff), names(w.queue.fullBackoff)...), backoff},
		{"list of waiting pods", w.queue.waitingNames(), waiting},
		{"requeue index", w.queue.indexed(), index},
	} {
		slices.Sort(structure.got)
		slices.Sort(structure.want)
		if !slices.Equal(structure.got, structure.want) {
			add("S1: the %s has %q, the pools say %q", structure.name, structure.got, structure.want)
		}
	}
	if int(w.queue.gated.Int()) != gated {
		add("S1: %d pods are gated, counted are %d", gated, w.queue.gated.Int())
	}
}

// checkPlaces checks S1 for each pod that the event handlers know without a node: it is queued or there is one attempt,
// unless the API server has other plans with it or it is bound.
func (w *world) checkPlaces(queued []queuedPod, add func(string, ...any)) {
	uids := map[types.UID]int{}
	for _, pod := range queued {
		uids[pod.info.Pod.UID]++
		if known, _ := w.podKind.known[pod.key].(*v1.Pod); known == nil || known.UID != pod.info.Pod.UID {
			add("S1: pod %s is queued, but is gone", pod.info.Pod.UID)
		} else if known.Spec.NodeName != "" {
			add("S1: pod %s is queued, but has a node", pod.info.Pod.UID)
		}
	}
	cached := map[types.UID]bool{}
	for _, node := range w.scheduler.Cache().Dump().Nodes {
		for _, pod := range node.Pods {
			if cached[pod.UID] {
				add("S1: pod %s is on two nodes", pod.UID)
			}
			cached[pod.UID] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.podKind.known)) {
		pod := w.podKind.known[name].(*v1.Pod)
		places := uids[pod.UID]
		if w.attempts[pod.UID] != nil {
			places++
		}
		now := w.pods[name]
		settled := pod.DeletionTimestamp != nil || now == nil || now.UID != pod.UID || now.Spec.NodeName != "" || now.DeletionTimestamp != nil
		if pod.Spec.NodeName == "" && !settled && places != 1 {
			add("S1: pod %s has %d places: %d in the queue, attempt %v", pod.UID, places, uids[pod.UID], w.attempts[pod.UID])
		}
		if cached[pod.UID] && uids[pod.UID] > 0 && !settled {
			add("S1: pod %s is queued and on a node", pod.UID)
		}
	}
	w.checkStoppedCounting(cached, add)
}

// checkStoppedCounting checks S5: the cache counts the pods that handlers know on nodes, those of attempts, and no other.
func (w *world) checkStoppedCounting(cached map[types.UID]bool, add func(string, ...any)) {
	for _, name := range slices.Sorted(maps.Keys(w.podKind.known)) {
		if pod := w.podKind.known[name].(*v1.Pod); pod.Spec.NodeName != "" && !cached[pod.UID] {
			add("S5: pod %s is on a node, but the cache does not count it", pod.UID)
		}
	}
	for uid := range cached {
		name, _, _ := strings.Cut(string(uid), "#")
		known, _ := w.podKind.known[name].(*v1.Pod)
		now := w.pods[name]
		bound := known != nil && known.UID == uid && (known.Spec.NodeName != "" || now == nil || now.UID != uid || now.Spec.NodeName != "")
		if !bound && w.attempts[uid] == nil {
			add("S5: the cache counts pod %s, which is on no node", uid)
		}
	}
}

// checkInFlight checks S2 and S3.
func (w *world) checkInFlight(add func(string, ...any)) {
	log, flights, length := w.queue.eventLog()
	flying, counting := map[types.UID]bool{}, map[types.UID]bool{}
	used := length
	for _, f := range flights {
		flying[f.uid], counting[f.uid] = true, !f.bound
		switch {
		case w.attempts[f.uid] == nil:
			add("S2: pod %s is in flight for good: no attempt of it goes on", f.uid)
		case f.from == -2 || f.from > length:
			add("S3: the events for pod %s are gone", f.uid)
		case f.from >= 0:
			used = min(used, f.from)
		}
	}
	for uid, a := range w.attempts {
		if !flying[uid] {
			add("S2: pod %s is no longer in flight, but its attempt goes on", uid)
		} else if a.eventsCount && !counting[uid] {
			add("S2: no events are kept for pod %s, but plugins can still reject it", uid)
		}
	}
	if length != len(log) {
		add("S3: the log has %d events, counted are %d", len(log), length)
	}
	if used > 0 {
		add("S3: %d events are kept for no pod in flight", used)
	}
	if limit := w.instance.eventLog; limit > 0 && length > limit {
		add("S3: the log has %d events, more than %d", length, limit)
	}
}

// checkNominations checks S4.
func (w *world) checkNominations(add func(string, ...any)) {
	byNode, nodeOf := w.queue.nominations()
	count := 0
	for node, pods := range byNode {
		for _, pod := range pods {
			count++
			if nodeOf[pod.UID] != node {
				add("S4: pod %s is nominated for node %s and for node %q", pod.UID, node, nodeOf[pod.UID])
			}
		}
		if node == "" || len(pods) == 0 {
			add("S4: there are %d nominations for node %q", len(pods), node)
		}
	}
	if count != len(nodeOf) {
		add("S4: %d nominations by node, %d by pod", count, len(nodeOf))
	}
	for uid := range nodeOf {
		name, _, _ := strings.Cut(string(uid), "#")
		known, _ := w.podKind.known[name].(*v1.Pod)
		now := w.pods[name]
		if (known == nil || known.UID != uid || known.Spec.NodeName != "") && (now == nil || now.UID != uid || now.Spec.NodeName != "") {
			add("S4: pod %s is nominated, but gone or on a node", uid)
		}
	}
}

// checkCapacity checks S6: the pods on a node fit.
func (w *world) checkCapacity(add func(string, ...any)) {
	for name, node := range w.nodes {
		var sum int64
		for _, pod := range w.pods {
			if pod.Spec.NodeName == name {
				sum += cpu(pod)
			}
		}
		if most := node.Status.Allocatable.Cpu().MilliValue(); sum > most {
			add("S6: pods on node %s request %dm CPU, it has %dm", name, sum, most)
		}
	}
}

func cpu(pod *v1.Pod) int64 {
	var sum int64
	for i := range pod.Spec.Containers {
		sum += pod.Spec.Containers[i].Resources.Requests.Cpu().MilliValue()
	}
	return sum
}
