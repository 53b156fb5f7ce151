// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package modelcheck

import (
	"cmp"
	"container/list"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"
	"unsafe"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/queue"
)

// queueState reads what a queue keeps to itself.
type queueState struct {
	pods, active, backoff, fullBackoff reflect.Value
	waiting, gated, groups, orphans    reflect.Value
	inFlight, log                      reflect.Value
	byNode, nodeOf                     reflect.Value
}

// newQueueState returns the state of a queue. The log of events for pods in flight gets the given limit unless it is zero.
func newQueueState(q *queue.Queue, eventLog int) queueState {
	whole := reflect.ValueOf(q).Elem()
	flight, unschedulable := field(whole, "inFlight"), field(whole, "unschedulable")
	if eventLog > 0 {
		field(flight, "limit").SetInt(int64(eventLog))
	}
	nominator := field(whole, "Nominator").Elem()
	return queueState{
		pods:   field(whole, "pods"),
		active: field(field(whole, "active"), "pods"), backoff: field(field(whole, "backoff"), "pods"),
		fullBackoff: field(field(whole, "fullBackoff"), "pods"),
		waiting:     field(field(unschedulable, "byAge"), "first"), gated: field(unschedulable, "gated"),
		groups:   field(field(unschedulable, "index"), "groups"),
		orphans:  field(field(field(unschedulable, "index"), "orphans"), "members"),
		inFlight: field(flight, "pods"), log: flight,
		byNode: field(nominator, "byNode"), nodeOf: field(nominator, "nodeOf"),
	}
}

// field returns a field of an addressable struct, exported or not.
func field(of reflect.Value, name string) reflect.Value {
	f := of.FieldByName(name)
	if !f.IsValid() {
		panic(fmt.Sprintf("%v has no field %s any more", of.Type(), name))
	}
	return reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem()
}

// queuedPod is a pod of the queue.
type queuedPod struct {
	key         string
	info        *framework.QueuedPodInfo
	pool        queue.Pool
	order       uint64
	poppedEarly bool
}

func readPod(pointer reflect.Value) queuedPod {
	pod := pointer.Elem()
	info := field(pod, "QueuedPodInfo").Interface().(*framework.QueuedPodInfo)
	return queuedPod{
		key: info.Pod.Name, info: info, pool: queue.Pool(field(pod, "pool").String()),
		order: field(pod, "order").Uint(), poppedEarly: field(pod, "poppedEarly").Bool(),
	}
}

// queued returns the pods of the queue, in the order in which they came into their pools.
func (s queueState) queued() []queuedPod {
	var found []queuedPod
	for iter := s.pods.MapRange(); iter.Next(); {
		pod := readPod(iter.Value())
		pod.key = iter.Key().Interface().(types.NamespacedName).Name
		found = append(found, pod)
	}
	slices.SortFunc(found, func(a, b queuedPod) int { return cmp.Compare(a.order, b.order) })
	return found
}

// names returns the names of pods in a slice of pointers to them.
func names(heap reflect.Value) []string {
	var found []string
	for i := range heap.Len() {
		found = append(found, readPod(heap.Index(i)).key)
	}
	slices.Sort(found)
	return found
}

// waitingNames returns the names of the pods in the list of waiting pods.
func (s queueState) waitingNames() []string {
	var found []string
	for pod := s.waiting; !pod.IsNil() && len(found) < 100; pod = field(pod.Elem(), "next") {
		found = append(found, readPod(pod).key)
	}
	slices.Sort(found)
	return found
}

// poppable reports whether Pop would return a pod.
func (s queueState) poppable() bool { return s.active.Len()+s.backoff.Len() > 0 }

// indexed returns the requeue index: for each group and class the names of its pods, sorted.
func (s queueState) indexed() []string {
	var found []string
	for iter := s.groups.MapRange(); iter.Next(); {
		groups := iter.Value()
		for i := range groups.Len() {
			group := groups.Index(i).Elem()
			classes := field(group, "classes")
			for j := range classes.Len() {
				members := field(classes.Index(j).Elem(), "members")
				for m := range members.Len() {
					pod := readPod(field(members.Index(m).Elem(), "pod"))
					pending := field(members.Index(m).Elem(), "pending").Bool()
					found = append(found, fmt.Sprintf("%s by %v gate %s pending %t", pod.key, iter.Key(), field(group, "gatingPlugin"), pending))
				}
			}
		}
	}
	for i := range s.orphans.Len() {
		found = append(found, "orphan "+readPod(field(s.orphans.Index(i).Elem(), "pod")).key)
	}
	slices.Sort(found)
	return found
}

// recorded is an event of the log for pods in flight.
type recorded struct {
	kind      fwk.ClusterEvent
	old, new  any
	onlyFor   types.UID
	ofFailure bool
}

// flight is a pod in flight. Its events are those from an index of the log on; -1 if the log overflowed.
type flight struct {
	uid                      types.UID
	from                     int
	poppedEarly, bound, gone bool // bound: it is done with events
	latest                   *v1.Pod
}

// eventLog returns the log, and the pods in flight by UID.
func (s queueState) eventLog() (log []recorded, flights []flight, length int) {
	index := map[uintptr]int{}
	last := field(s.log, "last").Pointer()
	for at := field(s.log, "before"); !at.IsNil(); at = field(at.Elem(), "next") {
		index[at.Pointer()] = len(index)
		if at.Pointer() == last {
			break
		}
		next := field(at.Elem(), "next")
		if next.IsNil() {
			break
		}
		e := next.Elem()
		log = append(log, recorded{
			kind: field(e, "kind").Interface().(fwk.ClusterEvent), old: field(e, "oldObj").Interface(), new: field(e, "newObj").Interface(),
			onlyFor: types.UID(field(e, "onlyFor").String()), ofFailure: field(e, "ofFailure").Bool(),
		})
	}
	for iter := s.inFlight.MapRange(); iter.Next(); {
		entry := iter.Value().Elem()
		f := flight{uid: types.UID(iter.Key().String()), from: -1, poppedEarly: field(entry, "poppedEarly").Bool(), bound: field(entry, "doneWithEvents").Bool(), gone: field(entry, "gone").Bool()}
		if latest := field(entry, "latest").Interface().(*framework.PodInfo); latest != nil {
			f.latest = latest.Pod
		}
		if before := field(entry, "before"); !before.IsNil() {
			from, known := index[before.Pointer()]
			f.from = from
			if !known {
				f.from = -2 // its place in the log is gone
			}
		}
		flights = append(flights, f)
	}
	slices.SortFunc(flights, func(a, b flight) int { return cmp.Compare(a.uid, b.uid) })
	return log, flights, int(field(s.log, "length").Int())
}

// needLog returns how many pods the log is kept for.
func (s queueState) needLog() int {
	return field(s.log, "oldestFirst").Interface().(*list.List).Len()
}

// nominations returns the nominated pods by node, as "node: UID, UID", and the index by UID.
func (s queueState) nominations() (byNode map[string][]*v1.Pod, nodeOf map[types.UID]string) {
	byNode, nodeOf = map[string][]*v1.Pod{}, map[types.UID]string{}
	for node, pods := range s.byNode.Interface().(map[string][]fwk.PodInfo) {
		for _, pod := range pods {
			byNode[node] = append(byNode[node], pod.GetPod())
		}
	}
	for uid, node := range s.nodeOf.Interface().(map[types.UID]string) {
		nodeOf[uid] = node
	}
	return byNode, nodeOf
}

// TestStateIsComplete fails when the queue gets a field that is not listed as part of the state or not.
func TestStateIsComplete(t *testing.T) {
	q, err := queue.New(t.Context(), queue.Options{})
	if err != nil {
		t.Fatal(err)
	}
	whole := reflect.ValueOf(q).Elem()
	flight, unschedulable := field(whole, "inFlight"), field(whole, "unschedulable")
	for _, row := range []struct {
		of   reflect.Type
		want []string
	}{
		{whole.Type(), []string{
			"ctx", "logger", "clock", "less", "withLess", "profiles", "preEnqueue", "initialBackoff", "maxBackoff",
			"maxInUnschedulable", "popFromBackoff", "observer", "batchObserver", "maxBatch", "Nominator", "mu", "unschedulable",
			"events", "order", "eventCount", "lastEvent", "allEvents", "becamePoppable", "search", "moves", "hintSubject", "hintPods",
			"prefetched", "gatingReason", "readyMu", "ready", "pods", "active", "backoff", "fullBackoff", "inFlight", "cycles", "closed",
		}},
		{flight.Type(), []string{"pods", "oldestFirst", "before", "last", "length", "bytes", "limit", "doneWithEvents", "observer"}},
		{field(flight, "pods").Type().Elem().Elem(), []string{"key", "attempts", "since", "poppedEarly", "before", "element", "doneWithEvents", "gone", "latest"}},
		{unschedulable.Type(), []string{"byAge", "index", "gated"}},
		{field(whole, "pods").Type().Elem().Elem(), []string{
			"QueuedPodInfo", "pool", "since", "order", "heapIndex", "previous", "next", "memberships", "membership", "poppedEarly",
			"preEnqueue", "decision",
		}},
		{reflect.TypeFor[framework.QueuedPodInfo](), []string{
			"PodInfo", "Timestamp", "Attempts", "BackoffExpiration", "UnschedulableCount", "ConsecutiveErrorsCount",
			"InitialAttemptTimestamp", "UnschedulablePlugins", "PendingPlugins", "GatingPlugin", "GatingPluginEvents",
			"WasFlushedFromUnschedulable", "FlushTimestamp",
		}},
		{field(whole, "Nominator").Elem().Type(), []string{"pods", "mu", "byNode", "nodeOf"}},
	} {
		var got []string
		for i := range row.of.NumField() {
			got = append(got, row.of.Field(i).Name)
		}
		if !slices.Equal(got, row.want) {
			t.Errorf("%v has the fields\n%q, not\n%q: if a new one is part of what the queue does next, the digest in digest_test.go must have it",
				row.of, got, row.want)
		}
	}
}

// windows returns a time as seconds from now on, not less than -2 and not more than 2.
func windows(t, now time.Time) int {
	if t.IsZero() {
		return -9
	}
	return max(-2, min(2, int(t.Truncate(time.Second).Sub(now.Truncate(time.Second))/time.Second)))
}
