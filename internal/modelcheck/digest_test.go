// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package modelcheck

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	clientcache "k8s.io/client-go/tools/cache"
)

// digest stands for a state. What only counts or measures is left out: versions, attempts, statistics, times but for their
// order and the backoff that is left. So are caches, which by the tests of their packages change no decision.
type digest [16]byte

func (w *world) digest() digest {
	var b strings.Builder
	w.writeState(&b)
	sum := w.sum(&b)
	return digest(sum[:16])
}

func (w *world) sum(b *strings.Builder) [32]byte {
	return sha256.Sum256([]byte(strings.ReplaceAll(b.String(), w.epochMark(), "")))
}

func (w *world) writeState(b *strings.Builder) {
	fmt.Fprintln(b, w.left, w.fails, w.loses)
	w.writeAPI(b)
	for _, k := range []*kind{w.podKind, w.nodeKind} {
		for _, name := range slices.Sorted(maps.Keys(k.known)) {
			fmt.Fprintln(b, "known", w.describe(k.known[name]))
		}
		for _, e := range k.pending {
			fmt.Fprintln(b, "pending", w.describe(e.old), "->", w.describe(e.new), e.missed)
		}
	}
	w.writeQueue(b)
	w.writeCache(b)
	w.writeNominations(b)
	var lines []string
	for _, t := range w.tasks {
		lines = append(lines, fmt.Sprintln("task", t.name, t.at, t.steps, t.locals))
	}
	for uid, a := range w.attempts {
		lines = append(lines, fmt.Sprintln("attempt", uid, *a))
	}
	slices.Sort(lines)
	b.WriteString(strings.Join(lines, ""))
}

func (w *world) writeAPI(b *strings.Builder) {
	for _, name := range slices.Sorted(maps.Keys(w.pods)) {
		fmt.Fprintln(b, "pod", w.describe(w.pods[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(w.nodes)) {
		fmt.Fprintln(b, "node", w.describe(w.nodes[name]))
	}
	fmt.Fprintln(b, w.created)
}

func (w *world) writeQueue(b *strings.Builder) {
	now := w.clock.Now()
	queued := w.queue.queued()
	var times []time.Time
	for _, pod := range queued {
		times = append(times, pod.info.Timestamp)
	}
	times = append(times, now)
	slices.SortFunc(times, time.Time.Compare)
	times = slices.CompactFunc(times, time.Time.Equal)
	for _, pod := range queued {
		info := pod.info
		rank := slices.IndexFunc(times, info.Timestamp.Equal) - len(times)
		fmt.Fprintln(b, "queued", pod.key, w.describe(info.Pod), pod.pool, pod.poppedEarly, rank, windows(info.BackoffExpiration, now),
			min(1, info.UnschedulableCount), min(1, info.ConsecutiveErrorsCount), sets.List(info.UnschedulablePlugins),
			sets.List(info.PendingPlugins), info.GatingPlugin, info.BackoffExpiration.Equal(now))
	}
	fmt.Fprintln(b, names(w.queue.active), names(w.queue.backoff), names(w.queue.fullBackoff), w.queue.waitingNames(), w.queue.gated.Int(), w.queue.indexed())
	log, flights, length := w.queue.eventLog()
	for _, e := range log {
		fmt.Fprintln(b, "event", e.kind.Resource, e.kind.ActionType, w.describe(e.old), w.describe(e.new), e.onlyFor, e.ofFailure)
	}
	for _, f := range flights {
		fmt.Fprintln(b, "in flight", f.uid, f.from, f.poppedEarly, f.bound, f.gone, w.describe(f.latest))
	}
	fmt.Fprintln(b, length, w.queue.needLog())
}

func (w *world) writeCache(b *strings.Builder) {
	for _, node := range w.scheduler.Cache().Dump().Nodes {
		fmt.Fprintln(b, "cached", node.Name, node.HasNode, node.Requested.MilliCPU, node.Allocatable.MilliCPU)
		for _, pod := range node.Pods {
			fmt.Fprintln(b, pod.UID, pod.NominatedNode, pod.Assumed)
		}
	}
}

func (w *world) writeNominations(b *strings.Builder) {
	byNode, nodeOf := w.queue.nominations()
	for _, node := range slices.Sorted(maps.Keys(byNode)) {
		fmt.Fprint(b, node, ":")
		for _, pod := range byNode[node] {
			fmt.Fprint(b, " ", w.describe(pod))
		}
	}
	fmt.Fprintln(b, nodeOf)
}

// cacheDigest stands for what a scheduling cycle sees in its snapshot, and nominationDigest for what else it reads.
func (w *world) cacheDigest() []byte {
	var b strings.Builder
	w.writeCache(&b)
	for _, name := range slices.Sorted(maps.Keys(w.nodeKind.known)) {
		fmt.Fprintln(&b, w.describe(w.nodeKind.known[name]))
	}
	sum := w.sum(&b)
	return sum[:6]
}

func (w *world) nominationDigest() []byte {
	var b strings.Builder
	w.writeNominations(&b)
	for _, stored := range w.podKind.Known().List() {
		fmt.Fprintln(&b, w.describe(stored))
	}
	sum := w.sum(&b)
	return sum[:6]
}

// describe is describe, remembered for the objects that w has, which never change.
func (w *world) describe(object any) string {
	text, known := w.described[object]
	if !known {
		text = describe(object)
		w.described[object] = text
	}
	return text
}

// describe returns what distinguishes versions of an object.
func describe(object any) string {
	switch o := object.(type) {
	case *v1.Pod:
		return describePod(o)
	case *v1.Node:
		return fmt.Sprint(o.Name, o.Labels, o.Spec.Unschedulable, o.Status.Allocatable.Cpu().MilliValue())
	case clientcache.DeletedFinalStateUnknown:
		return "last known " + describe(o.Obj)
	case apiruntime.Object:
		panic(fmt.Sprintf("an object of type %T", o))
	}
	return "none"
}

func describePod(pod *v1.Pod) string {
	if pod == nil {
		return "none"
	}
	var b strings.Builder
	fmt.Fprint(&b, pod.UID, " ", pod.Spec.NodeName, " ", pod.DeletionTimestamp != nil, pod.Status.NominatedNodeName, pod.Labels, len(pod.Spec.SchedulingGates),
		len(pod.Finalizers), len(pod.Spec.Tolerations))
	if len(pod.Spec.Containers) > 0 {
		fmt.Fprint(&b, pod.Spec.Containers[0].Resources.Requests.Cpu().MilliValue())
	}
	for _, c := range pod.Status.Conditions {
		fmt.Fprint(&b, c.Type, c.Status, c.Reason, c.Message)
	}
	return b.String()
}
