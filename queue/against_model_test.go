// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/rouse-scheduler/rouse/framework"
)

// TestAgainstModel runs random operations on a queue and on the model, and compares the two after each of them.
func TestAgainstModel(t *testing.T) {
	const seeds, operations = 60, 1800
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint("seed", seed), func(t *testing.T) {
			t.Parallel()
			r := newRace(t, seed)
			for range operations {
				r.step()
				if difference := r.compare(); difference != "" {
					t.Fatalf("the queue (+) differs from the model (-):\n%s\nlast operations:\n%s", difference, strings.Join(r.trace, "\n"))
				}
			}
			r.popAll()
		})
	}
}

// race is a queue and a model that do the same.
type race struct {
	t     *testing.T
	world *world
	clock *testingclock.FakePassiveClock
	queue *Queue
	model *model
	seen  *tally
	// held are the pods in flight.
	held  []heldPod
	trace []string
}

type heldPod struct {
	info  *framework.QueuedPodInfo
	model *modelPod
}

func newRace(t *testing.T, seed uint64) *race {
	world := newWorld(seed)
	start := time.Date(2026, 1, 1, 0, 0, 0, 300_000_000, time.UTC)
	r := &race{t: t, world: world, clock: testingclock.NewFakePassiveClock(start), model: newModel(world, start), seen: newTally()}
	queue, err := New(context.Background(), Options{
		Profiles: world.queueProfiles(), Clock: r.clock, Nominator: NewNominator(world.lister),
		InitialBackoff: world.initialBackoff, MaxBackoff: world.maxBackoff, MaxInUnschedulable: world.maxInUnschedulable,
		MaxInFlightEvents: world.maxInFlightEvents, DisablePopFromBackoff: !world.popFromBackoff, Observer: r.seen,
	})
	if err != nil {
		t.Fatal(err)
	}
	r.queue = queue
	r.queue.maxBatch = 1 + int(seed%5)
	return r
}

func (r *race) note(format string, args ...any) {
	if len(r.trace) == 40 {
		r.trace = r.trace[1:]
	}
	r.trace = append(r.trace, r.model.now.Format("15:04:05.000000000 ")+fmt.Sprintf(format, args...))
}

// step does one random operation.
func (r *race) step() {
	operations := []struct {
		weight int
		do     func()
	}{
		{8, r.add}, {10, r.update}, {3, r.delete}, {22, r.pop}, {20, r.giveBack}, {4, r.done}, {14, r.move}, {5, r.moveTarget},
		{1, r.moveAll}, {4, r.activate}, {10, r.passTime}, {5, r.flushBackoff}, {3, r.flushUnschedulable}, {8, r.switchGate}, {3, r.nominate},
	}
	total := 0
	for _, operation := range operations {
		total += operation.weight
	}
	chosen := r.world.random.IntN(total)
	for _, operation := range operations {
		if chosen -= operation.weight; chosen < 0 {
			operation.do()
			return
		}
	}
}

func (r *race) add() {
	name := pick(r.world.random, r.world.names...)
	pod := r.world.current[name]
	switch {
	case pod == nil || r.world.random.IntN(10) == 0: // now and then the end of a pod is missed
		pod = r.world.newPod(name)
	case r.world.random.IntN(4) > 0: // or it is announced twice
		return
	}
	r.note("add %v %v", name, pod.UID)
	r.queue.Add(pod)
	r.model.add(pod)
}

func (r *race) update() {
	oldPod := r.world.randomPod()
	if oldPod == nil {
		return
	}
	var newPod *v1.Pod
	if r.world.random.IntN(15) == 0 {
		newPod = r.world.newPod(nameOf(oldPod))
	} else {
		newPod = oldPod.DeepCopy()
		r.world.change(newPod)
		r.world.store(newPod)
	}
	r.note("update %v %v -> %v", nameOf(newPod), oldPod.UID, newPod.UID)
	r.queue.Update(oldPod, newPod)
	r.model.update(oldPod, newPod)
}

func (r *race) delete() {
	pod := r.world.randomPod()
	if pod == nil {
		return
	}
	r.note("delete %v", nameOf(pod))
	r.world.forget(pod)
	r.queue.Delete(pod)
	r.model.delete(pod)
}

func (r *race) pop() {
	if len(r.held) > 6 {
		return
	}
	got, want := r.queue.TryPop(), r.model.pop()
	if got == nil || want == nil {
		r.note("pop nothing")
		if got != nil || want != nil {
			r.t.Fatalf("popped %v, want %v\nlast operations:\n%s", got, want, strings.Join(r.trace, "\n"))
		}
		return
	}
	r.note("pop %v", nameOf(got.Pod))
	if got.Pod != want.pod || got.Attempts != want.attempts || !got.InitialAttemptTimestamp.Equal(want.firstAttempt) {
		r.t.Fatalf("popped %v (attempt %d), want %v (attempt %d)\nlast operations:\n%s", nameOf(got.Pod), got.Attempts,
			nameOf(want.pod), want.attempts, strings.Join(r.trace, "\n"))
	}
	r.held = append(r.held, heldPod{got, want})
}

// takeHeld returns a pod in flight, which is no longer held.
func (r *race) takeHeld() (heldPod, bool) {
	if len(r.held) == 0 {
		return heldPod{}, false
	}
	i := r.world.random.IntN(len(r.held))
	held := r.held[i]
	r.held = slices.Delete(r.held, i, i+1)
	return held, true
}

func (r *race) giveBack() {
	held, ok := r.takeHeld()
	if !ok {
		return
	}
	rejected, pending := sets.New[string](), sets.New[string]()
	if r.world.random.IntN(5) > 0 {
		for _, plugin := range []string{"P0", "P1", "P2", "P3", "P4", "P5"} {
			switch r.world.random.IntN(8) {
			case 0:
				rejected.Insert(plugin)
			case 1:
				pending.Insert(plugin)
			case 2:
				rejected.Insert(plugin)
				pending.Insert(plugin)
			}
		}
	}
	pod := held.info.Pod
	if latest := r.world.current[nameOf(pod)]; latest != nil && latest.UID == pod.UID {
		pod = latest
	}
	r.note("give back %v rejected by %v pending %v", nameOf(pod), sets.List(rejected), sets.List(pending))
	held.info.PodInfo, _ = framework.NewPodInfo(pod)
	held.info.UnschedulablePlugins, held.info.PendingPlugins = rejected, pending
	held.model.pod, held.model.unschedulable, held.model.pending = pod, rejected.Clone(), pending.Clone()
	err := r.queue.AddUnschedulable(held.info)
	if taken := r.model.giveBack(held.model); taken != (err == nil) {
		r.t.Fatalf("giving back %v: error %v, want taken %v", nameOf(pod), err, taken)
	}
}

func (r *race) done() {
	if held, ok := r.takeHeld(); ok {
		r.note("done %v", held.info.Pod.UID)
		r.queue.Done(held.info.Pod.UID)
		delete(r.model.flying, held.info.Pod.UID)
	}
}

func (r *race) move() {
	event := pick(r.world.random, happenings()...)
	oldObj, newObj := r.world.randomObjects(event)
	var preCheck func(*v1.Pod) bool
	limit := int32(r.world.random.IntN(4))
	if limit < 3 {
		preCheck = func(pod *v1.Pod) bool { return *pod.Spec.Priority <= limit }
	}
	failed := r.world.random.IntN(2) == 0
	r.note("move %s %s, priorities up to %d, after a failure %t", event.Label(), objectName(oldObj, newObj), limit, failed)
	if failed {
		r.queue.MoveAfterFailure(event, oldObj, newObj, preCheck)
	} else {
		r.queue.Move(event, oldObj, newObj, preCheck)
	}
	r.model.move(event, oldObj, newObj, preCheck, failed)
}

// moveTarget announces an event about one waiting pod to all.
func (r *race) moveTarget() {
	if pod := r.world.randomPod(); pod != nil {
		event := fwk.ClusterEvent{Resource: fwk.TargetPod, ActionType: fwk.UpdatePodLabel}
		if r.world.random.IntN(3) == 0 {
			event = framework.EventForceActivate()
		}
		r.note("move %s %v", event.Label(), nameOf(pod))
		r.queue.Move(event, nil, pod, nil)
		r.model.move(event, nil, pod, nil, false)
	}
}

func (r *race) moveAll() {
	event := framework.EventForceActivate()
	var newObj any
	if r.world.random.IntN(2) == 0 {
		newObj = &v1.Node{}
	}
	r.note("move everything, object %T", newObj)
	r.queue.Move(event, nil, newObj, nil)
	r.model.move(event, nil, newObj, nil, false)
}

func (r *race) activate() {
	named := map[string]*v1.Pod{}
	var inOrder []*v1.Pod
	for _, name := range r.world.names {
		if pod := r.world.current[name]; pod != nil && r.world.random.IntN(4) == 0 {
			named[fmt.Sprintf("%02d", len(named))] = pod
			inOrder = append(inOrder, pod)
		}
	}
	r.note("activate %d pods", len(named))
	r.queue.Activate(r.queue.logger, named)
	r.model.activate(inOrder)
}

func (r *race) passTime() {
	now := r.model.now.Add(pick(r.world.random, time.Nanosecond, 300*time.Millisecond, time.Second, 3*time.Second, 40*time.Second))
	if next, ok := r.queue.nextFlush(); ok && next.After(r.model.now) && r.world.random.IntN(2) == 0 {
		now = next
	}
	r.clock.SetTime(now)
	r.model.now = now
}

func (r *race) flushBackoff() {
	r.note("flush backoff")
	r.queue.FlushBackoff()
	r.model.flushBackoff()
}

func (r *race) flushUnschedulable() {
	r.note("flush unschedulable")
	r.queue.FlushUnschedulable()
	r.model.flushUnschedulable()
}

func (r *race) switchGate() {
	gating := fmt.Sprintf("P%d %s", r.world.random.IntN(6), pick(r.world.random, r.world.names...).Name)
	if r.world.rejecting.Has(gating) {
		r.world.rejecting.Delete(gating)
	} else if r.world.random.IntN(2) == 0 {
		r.world.rejecting.Insert(gating)
	}
}

func (r *race) nominate() {
	pod := r.world.randomPod()
	if pod == nil {
		return
	}
	info, _ := framework.NewPodInfo(pod)
	var nominating *fwk.NominatingInfo
	node := pod.Status.NominatedNodeName
	if r.world.random.IntN(4) > 0 {
		node = pick(r.world.random, "", "node0", "node1")
		nominating = &fwk.NominatingInfo{NominatingMode: fwk.ModeOverride, NominatedNodeName: node}
	}
	r.note("nominate %v for %q", nameOf(pod), node)
	r.queue.AddNominatedPod(r.queue.logger, info, nominating)
	r.model.nominate(pod, node)
}

// popAll empties both as far as it goes; the order must be the same.
func (r *race) popAll() {
	for _, held := range r.held {
		r.queue.Done(held.info.Pod.UID)
		delete(r.model.flying, held.info.Pod.UID)
	}
	r.held = nil
	for len(r.model.inOrder(PoolActive)) > 0 {
		r.pop()
		r.done()
	}
}

// state is what is compared of a pod.
type state struct {
	Name                   string
	Pool                   Pool
	Attempts               int
	Pod                    *v1.Pod
	Unschedulable, Pending []string
	Gate                   string
	Expiry, TimeoutAt      time.Time
	Flushed                bool
}

// summary is what is compared of a queue.
type summary struct {
	Pods                                   []state
	Order                                  []string
	Pools                                  map[Pool]int
	Rejectors                              map[string]int
	Incoming                               map[string]int
	InFlightEvents                         int
	Cycles                                 int64
	NextBackoffFlush, NextUnschedulableOne time.Time
	Nominated                              map[string][]types.UID
}

func (r *race) compare() string {
	r.checkIntegrity()
	wanted, got := r.wanted(), r.got()
	if reflect.DeepEqual(wanted, got) { // much faster than a difference
		return ""
	}
	return cmp.Diff(wanted, got)
}

func (r *race) wanted() summary {
	m := r.model
	s := summary{
		Pools:                map[Pool]int{PoolInFlight: len(m.flying), PoolActive: 0, PoolBackoff: 0, PoolUnschedulable: 0, PoolGated: 0},
		Rejectors:            m.byRejector(),
		Incoming:             m.incoming,
		InFlightEvents:       m.neededEvents(),
		Cycles:               m.cycles,
		NextBackoffFlush:     m.nextBackoffFlush(),
		NextUnschedulableOne: m.nextUnschedulableFlush(),
		Nominated:            map[string][]types.UID{"node0": m.nominatedFor("node0"), "node1": m.nominatedFor("node1"), "": nil},
	}
	flying := sets.New[types.NamespacedName]()
	for _, flight := range m.flying {
		flying.Insert(flight.key)
	}
	for _, name := range r.world.names {
		pod := m.pods[name]
		if pod == nil {
			if flying.Has(name) {
				s.Pods = append(s.Pods, state{Name: name.Name, Pool: PoolInFlight})
			}
			continue
		}
		st := state{
			Name: name.Name, Pool: pod.pool, Attempts: pod.attempts, Pod: pod.pod, Gate: pod.gatingPlugin, Flushed: pod.flushed,
			Unschedulable: sets.List(pod.unschedulable), Pending: sets.List(pod.pending), Expiry: m.expiryOf(pod),
		}
		if pod.pool == PoolUnschedulable || pod.pool == PoolGated {
			st.TimeoutAt = m.waitedSince(pod).Add(r.world.maxInUnschedulable + 1)
		}
		s.Pods = append(s.Pods, st)
		s.Pools[pod.pool]++
	}
	for _, pools := range [][]Pool{{PoolActive}, {PoolBackoff}, {PoolUnschedulable, PoolGated}} {
		for _, pod := range m.inOrder(pools...) {
			s.Order = append(s.Order, pod.pod.Name)
		}
	}
	return s
}

func (r *race) got() summary {
	stats := r.queue.Stats()
	s := summary{
		Pools: map[Pool]int{
			PoolActive: stats.Active, PoolBackoff: stats.Backoff, PoolUnschedulable: stats.Unschedulable,
			PoolGated: stats.Gated, PoolInFlight: stats.InFlight,
		},
		Rejectors:      map[string]int{},
		Incoming:       r.seen.incoming,
		InFlightEvents: stats.InFlightEvents,
		Cycles:         stats.SchedulingCycles,
		Nominated:      map[string][]types.UID{},
	}
	for _, name := range r.world.names {
		status, ok := r.queue.Lookup(name.Namespace, name.Name)
		if !ok {
			continue
		}
		st := state{
			Name: name.Name, Pool: status.Pool, Attempts: status.Attempts, Pod: status.Pod, Unschedulable: status.UnschedulablePlugins,
			Pending: status.PendingPlugins, Gate: status.GatingPlugin, Expiry: status.BackoffExpiration,
			TimeoutAt: status.UnschedulableTimeoutAt, Flushed: status.WasFlushed,
		}
		if status.Pool == PoolInFlight {
			st = state{Name: name.Name, Pool: PoolInFlight}
		}
		s.Pods = append(s.Pods, st)
	}
	pods, _ := r.queue.PendingPods()
	for _, pod := range pods {
		s.Order = append(s.Order, pod.Name)
	}
	for plugin, count := range r.seen.rejectors {
		if count != 0 {
			s.Rejectors[plugin] = count
		}
	}
	s.NextBackoffFlush, _ = r.queue.NextBackoffFlush()
	s.NextUnschedulableOne, _ = r.queue.NextUnschedulableFlush()
	for _, node := range []string{"", "node0", "node1"} {
		s.Nominated[node] = nil
		for _, pod := range r.queue.NominatedPodsForNode(node) {
			s.Nominated[node] = append(s.Nominated[node], pod.GetPod().UID)
		}
	}
	return s
}
