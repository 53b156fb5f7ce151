// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/sets"
)

// tally derives metrics from what an observer sees.
type tally struct {
	NopQueueObserver

	pools      map[Pool]int
	rejectors  map[string]int
	incoming   map[string]int
	flyingSeen int // events
	podsFlying int
	hints      []HintResult
}

func newTally() *tally {
	return &tally{pools: map[Pool]int{}, rejectors: map[string]int{}, incoming: map[string]int{}}
}

func (s *tally) PodMoved(move PodMove) {
	s.pools[move.From]--
	s.pools[move.To]++
	outside := func(pool Pool) bool { return pool == PoolNone || pool == PoolInFlight }
	switch {
	case outside(move.From):
		s.countRejectors(move, 1)
	case outside(move.To):
		s.countRejectors(move, -1)
	case move.NewRejector != "":
		s.rejectors[move.NewRejector]++
	}
	if !outside(move.To) && !(move.From.waits() && move.To.waits()) {
		s.incoming[string(move.To)+" "+move.Cause]++
	}
}

func (s *tally) PodsMoved(moves []PodMove) {
	for _, move := range moves {
		s.PodMoved(move)
	}
}

func (s *tally) countRejectors(move PodMove, by int) {
	for plugin := range move.Pod.RejectorPlugins() {
		s.rejectors[plugin] += by
	}
}

func (s *tally) HintEvaluated(result HintResult) {
	for range result.Pods {
		s.hints = append(s.hints, result)
	}
	s.hints = s.hints[:min(len(s.hints), 100)]
}

func (s *tally) InFlightEvents(event string, delta int) {
	if event == CausePopped {
		s.podsFlying += delta
	} else {
		s.flyingSeen += delta
	}
}

// checkIntegrity checks that every pod is in one place, and that everything else agrees about it.
func (r *race) checkIntegrity() {
	r.t.Helper()
	checkIntegrity(r.t, r.queue)
	stats := r.queue.Stats()
	want := map[Pool]int{PoolActive: stats.Active, PoolBackoff: stats.Backoff, PoolUnschedulable: stats.Unschedulable, PoolGated: stats.Gated}
	got := maps.Clone(r.seen.pools)
	delete(got, PoolNone)
	delete(got, PoolInFlight) // a pod that is done leaves it unseen
	for pool := range want {
		if want[pool] != got[pool] {
			r.t.Fatalf("observed pools: %s", cmp.Diff(want, got))
		}
	}
	if r.seen.flyingSeen != stats.InFlightEvents || r.seen.podsFlying != stats.InFlight {
		r.t.Fatalf("observed %d events and %d pods in flight, want %d and %d", r.seen.flyingSeen, r.seen.podsFlying,
			stats.InFlightEvents, stats.InFlight)
	}
}

func checkIntegrity(t *testing.T, q *Queue) {
	t.Helper()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.readyMu.Lock()
	defer q.readyMu.Unlock()
	inHeaps := 0
	for _, heap := range []*podHeap{&q.active, &q.backoff, &q.fullBackoff} {
		inHeaps += heap.len()
		for i, pod := range heap.pods {
			if pod.heapIndex != i || i > 0 && heap.less(pod, heap.pods[(i-1)/2]) {
				t.Fatalf("heap is out of order at %d", i)
			}
			if heap.sorted && i > 0 && heap.less(pod, heap.pods[i-1]) {
				t.Fatalf("heap is not sorted at %d", i)
			}
			if q.pods[pod.key()] != pod {
				t.Fatalf("pod %v is in a heap, but the queue does not know it", pod.key())
			}
		}
	}
	if inHeaps+checkWaiting(t, q) != len(q.pods) {
		t.Fatalf("%d pods are in heaps and %d wait, want %d", inHeaps, q.unschedulable.len(), len(q.pods))
	}
	gated := 0
	for key, pod := range q.pods {
		heap := map[Pool]*podHeap{PoolActive: &q.active, PoolBackoff: q.backoffHeap(pod)}[pod.pool]
		if heap != nil && heap.pods[pod.heapIndex] != pod || heap == nil && !pod.pool.waits() {
			t.Fatalf("pod %v is not in the heap of pool %q", key, pod.pool)
		}
		// Without early pops, PreEnqueue is not called on the way into backoff, and what they said before stays until they are.
		if pod.Gated() != (pod.pool == PoolGated) && (pod.pool != PoolBackoff || q.popFromBackoff) {
			t.Fatalf("pod %v in pool %q is gated by %q", key, pod.pool, pod.GatingPlugin)
		}
		if pod.decision != (decision{}) {
			t.Fatalf("pod %v kept the verdict %v of an event", key, pod.decision)
		}
		if pod.pool == PoolGated {
			gated++
		}
		checkMemberships(t, q, pod)
	}
	if gated != q.unschedulable.gated {
		t.Fatalf("%d pods are gated, want %d", q.unschedulable.gated, gated)
	}
	checkIndex(t, q)
}

// checkWaiting checks the list of waiting pods and returns how many there are.
func checkWaiting(t *testing.T, q *Queue) int {
	t.Helper()
	list := &q.unschedulable.byAge
	count := 0
	var last *queuedPod
	insertedIsThere := list.inserted == nil
	for pod := range list.all {
		if pod.previous != last || last != nil && !longestWaiting(last, pod) {
			t.Fatalf("pod %v is out of place among those that wait", pod.key())
		}
		if q.pods[pod.key()] != pod || !pod.pool.waits() {
			t.Fatalf("pod %v is listed as waiting, and is in pool %q", pod.key(), pod.pool)
		}
		insertedIsThere = insertedIsThere || list.inserted == pod
		last = pod
		count++
	}
	if list.last != last || list.length != count || !insertedIsThere {
		t.Fatalf("the list of %d waiting pods says it has %d, or its ends are wrong", count, list.length)
	}
	return count
}

func checkMemberships(t *testing.T, q *Queue, pod *queuedPod) {
	t.Helper()
	if !pod.pool.waits() {
		if len(pod.memberships) > 0 {
			t.Fatalf("pod %v is in pool %q and in the index", pod.key(), pod.pool)
		}
		return
	}
	want := pod.RejectorPlugins()
	if !q.unschedulable.index.knownProfile(pod.profile()) {
		want = sets.New("")
	}
	if len(pod.memberships) != len(want) {
		t.Fatalf("pod %v has %d places in the index, want %d", pod.key(), len(pod.memberships), len(want))
	}
	for i := range pod.memberships {
		place := &pod.memberships[i]
		if place.pod != pod || place.class.members[place.position] != place {
			t.Fatalf("pod %v is not where it should be in the index", pod.key())
		}
		if group := place.class.group; group != nil && group.gatingPlugin != pod.GatingPlugin {
			t.Fatalf("pod %v, gated by %q, is indexed under %q", pod.key(), pod.GatingPlugin, group.gatingPlugin)
		}
	}
}

func checkIndex(t *testing.T, q *Queue) {
	t.Helper()
	places := len(q.unschedulable.index.orphans.members)
	for _, groups := range q.unschedulable.index.groups {
		for _, group := range groups {
			shared := 0
			for i, class := range group.classes {
				if class.position != i || class.group != group || len(class.members) == 0 {
					t.Fatalf("class %q is out of place", class.name)
				}
				places += len(class.members)
				if class.shared {
					shared++
				} else if len(class.members) != 1 {
					t.Fatalf("a class of its own has %d pods", len(class.members))
				}
			}
			if shared != len(group.byName) {
				t.Fatalf("%d classes have names, want %d", len(group.byName), shared)
			}
		}
	}
	for _, pod := range q.pods {
		places -= len(pod.memberships)
	}
	if places != 0 {
		t.Fatalf("the index has %d places too many", places)
	}
}
