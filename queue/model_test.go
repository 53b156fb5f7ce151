// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"cmp"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// model is the queue as one would write it without a care for speed: one list of pods, walked for every question. It
// knows plugins by their registrations alone, has its own rule for matching events, and never forgets an event.
type model struct {
	world *world
	now   time.Time

	pods     map[types.NamespacedName]*modelPod
	flying   map[types.UID]*modelFlight
	events   []modelEvent
	arrivals int
	cycles   int64

	nominations []modelNomination
	// incoming counts pods that came into pools, as metrics do.
	incoming map[string]int
}

type modelPod struct {
	pod                *v1.Pod
	pool               Pool
	arrival            int
	timestamp          time.Time
	attempts           int
	rejections, errors int
	expiry             time.Time
	firstAttempt       time.Time
	unschedulable      sets.Set[string]
	pending            sets.Set[string]
	gatingPlugin       string
	flushed            bool
	flushTime          time.Time
	poppedEarly        bool // since a backoff of it ended
}

type modelFlight struct {
	key    types.NamespacedName
	events int     // recorded before
	latest *v1.Pod // that it was updated to since, if it was
	gone   bool    // it was deleted since
}

type modelEvent struct {
	event          fwk.ClusterEvent
	oldObj, newObj any
	onlyFor        types.UID
	ofFailure      bool
}

// outside says whether something happened in the cluster, and not because of an attempt that failed.
func (e modelEvent) outside() bool {
	return !e.ofFailure && !modelIsWildcard(e.event) && e.event != fwk.ClusterEvent{Resource: fwk.TargetPod, ActionType: fwk.Update}
}

type modelNomination struct {
	uid  types.UID
	node string
}

func newModel(world *world, now time.Time) *model {
	return &model{
		world: world, now: now,
		pods:     map[types.NamespacedName]*modelPod{},
		flying:   map[types.UID]*modelFlight{},
		incoming: map[string]int{},
	}
}

func nameOf(pod *v1.Pod) types.NamespacedName {
	return types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
}

func (p *modelPod) rejectors() sets.Set[string] { return p.unschedulable.Union(p.pending) }

// inOrder returns the pods of some pools by their arrival there.
func (m *model) inOrder(pools ...Pool) []*modelPod {
	var pods []*modelPod
	for _, pod := range m.pods {
		if slices.Contains(pools, pod.pool) {
			pods = append(pods, pod)
		}
	}
	slices.SortFunc(pods, func(a, b *modelPod) int { return cmp.Compare(a.arrival, b.arrival) })
	return pods
}

// Events.

func modelMatches(registered, happened fwk.ClusterEvent) bool {
	if registered.Resource == "*" && registered.ActionType == fwk.All {
		return true
	}
	ofPod := happened.Resource == "AssignedPod" || happened.Resource == "UnscheduledPod" || happened.Resource == "TargetPod"
	if registered.Resource != "*" && registered.Resource != happened.Resource && !(registered.Resource == "Pod" && ofPod) {
		return false
	}
	return registered.ActionType&happened.ActionType != 0 && happened.ActionType <= registered.ActionType
}

func modelIsWildcard(event fwk.ClusterEvent) bool {
	return event.Resource == "*" && event.ActionType == fwk.All
}

// registrations returns those of a plugin in one profile that cover an event.
func (m *model) registrations(profile, plugin string, event fwk.ClusterEvent) []*registration {
	var found []*registration
	for _, r := range m.world.profiles[profile][plugin] {
		if modelMatches(r.event, event) {
			found = append(found, r)
		}
	}
	return found
}

func (m *model) anyoneWaitsFor(event fwk.ClusterEvent) bool {
	for profile, plugins := range m.world.profiles {
		for plugin := range plugins {
			if len(m.registrations(profile, plugin, event)) > 0 {
				return true
			}
		}
	}
	return false
}

func (m *model) gatingPluginWants(gating string, event fwk.ClusterEvent) bool {
	for profile := range m.world.profiles {
		if len(m.registrations(profile, gating, event)) > 0 {
			return true
		}
	}
	return false
}

// worth is what an event is worth to one pod. Narrowing applies to events that move pods, not to those that are replayed.
func (m *model) worth(pod *modelPod, happened modelEvent, narrowed bool) Strategy {
	if pod.rejectors().Len() == 0 {
		return AfterBackoff
	}
	if modelIsWildcard(happened.event) {
		if happened.newObj == nil {
			return AfterBackoff
		}
		if target, ok := happened.newObj.(*v1.Pod); ok && target.UID == pod.pod.UID {
			return AfterBackoff
		}
		return Skip
	}
	profile, known := m.world.profiles[pod.pod.Spec.SchedulerName]
	if !known {
		return AfterBackoff
	}
	best := Skip
	for plugin := range profile {
		if !pod.rejectors().Has(plugin) {
			continue
		}
		for _, r := range m.registrations(pod.pod.Spec.SchedulerName, plugin, happened.event) {
			if narrowed && r.leavesOut(nameOf(pod.pod), happened.oldObj, happened.newObj) {
				continue
			}
			if r.wants(pod.pod, happened.oldObj, happened.newObj) {
				if pod.pending.Has(plugin) {
					return Immediately
				}
				best = AfterBackoff
			}
		}
	}
	return best
}

// move is a cluster event.
func (m *model) move(event fwk.ClusterEvent, oldObj, newObj any, preCheck func(*v1.Pod) bool, ofFailure bool) {
	if !modelIsWildcard(event) && !m.anyoneWaitsFor(event) {
		return
	}
	happened := modelEvent{event: event, oldObj: oldObj, newObj: newObj, ofFailure: ofFailure}
	for _, pod := range m.inOrder(PoolUnschedulable, PoolGated) {
		if preCheck != nil && !preCheck(pod.pod) {
			continue
		}
		if pod.gatingPlugin != "" && !modelIsWildcard(event) && !m.gatingPluginWants(pod.gatingPlugin, event) {
			continue
		}
		if worth := m.worth(pod, happened, true); worth != Skip {
			pod.poppedEarly = pod.poppedEarly && !happened.outside()
			m.requeue(pod, worth, event.Label())
		}
	}
	m.record(happened)
}

func (m *model) record(event modelEvent) {
	if len(m.flying) > 0 {
		m.events = append(m.events, event)
	}
}

// Backoff.

func (m *model) floor(t time.Time) time.Time {
	if m.world.popFromBackoff {
		return t.Truncate(time.Second)
	}
	return t
}

func (m *model) expiryOf(pod *modelPod) time.Time {
	count := pod.rejections
	if pod.errors > 0 {
		count = pod.errors
	}
	if count == 0 || m.world.maxBackoff < 0 {
		return time.Time{}
	}
	duration := m.world.initialBackoff
	for range count - 1 {
		if duration < m.world.maxBackoff {
			duration *= 2
		}
	}
	return m.floor(pod.timestamp.Add(min(duration, m.world.maxBackoff)))
}

func (m *model) backingOff(pod *modelPod) bool {
	expiry := m.expiryOf(pod)
	return !expiry.IsZero() && !expiry.Before(m.floor(m.now))
}

// Moves.

func (m *model) requeue(pod *modelPod, worth Strategy, cause string) {
	switch {
	case worth == Skip:
		m.put(pod, PoolUnschedulable, cause)
	case worth == AfterBackoff && m.backingOff(pod):
		if m.world.popFromBackoff && m.gated(pod) {
			m.put(pod, PoolGated, cause)
			return
		}
		pod.expiry = m.expiryOf(pod)
		m.put(pod, PoolBackoff, cause)
	default:
		if worth == AfterBackoff {
			pod.poppedEarly = false
		}
		if !(pod.pool == PoolBackoff && m.world.popFromBackoff) && m.gated(pod) {
			m.put(pod, PoolGated, cause)
			return
		}
		if pod.firstAttempt.IsZero() {
			pod.firstAttempt = m.now
		}
		m.put(pod, PoolActive, cause)
	}
}

func (m *model) put(pod *modelPod, to Pool, cause string) {
	waits := func(pool Pool) bool { return pool == PoolUnschedulable || pool == PoolGated }
	if !waits(pod.pool) || !waits(to) {
		m.arrivals++
		pod.arrival = m.arrivals
		m.incoming[string(to)+" "+cause]++
	}
	pod.pool = to
	m.pods[nameOf(pod.pod)] = pod
}

// gated asks the PreEnqueue plugins.
func (m *model) gated(pod *modelPod) bool {
	var order []string
	for _, gating := range m.world.preEnqueue[pod.pod.Spec.SchedulerName] {
		if gating == pod.gatingPlugin {
			order = append([]string{gating}, order...)
		} else {
			order = append(order, gating)
		}
	}
	for _, gating := range order {
		if m.world.rejects(gating, pod.pod) {
			pod.unschedulable.Insert(gating)
			pod.gatingPlugin, pod.flushed = gating, false
			return true
		}
	}
	pod.gatingPlugin = ""
	return false
}

// flightOf never returns nil.
func (m *model) flightOf(pod *v1.Pod) *modelFlight { return cmp.Or(m.flying[pod.UID], &modelFlight{}) }

// What callers do.

func (m *model) add(pod *v1.Pod) {
	if replaced := m.pods[nameOf(pod)]; replaced != nil {
		m.withdraw(replaced.pod.UID)
	}
	delete(m.pods, nameOf(pod))
	m.flightOf(pod).gone = false
	m.nominate(pod, pod.Status.NominatedNodeName)
	m.requeue(&modelPod{pod: pod, timestamp: m.now, unschedulable: sets.New[string](), pending: sets.New[string]()}, Immediately, "UnscheduledPodAdd")
}

func (m *model) update(oldPod, newPod *v1.Pod) {
	updates := framework.PodEvents(oldPod, newPod, true)
	if flight := m.flying[newPod.UID]; flight != nil {
		flight.latest = newPod
		for _, event := range updates {
			m.record(modelEvent{event, oldPod, newPod, newPod.UID, false})
		}
		return
	}
	pod := m.pods[nameOf(newPod)]
	if pod == nil || pod.pod.UID != newPod.UID {
		m.withdraw(oldPod.UID)
		m.add(newPod)
		return
	}
	pod.pod = newPod
	node := newPod.Status.NominatedNodeName
	if node == "" && oldPod.Status.NominatedNodeName == "" {
		node = m.nominatedNode(oldPod.UID)
	}
	m.withdraw(oldPod.UID)
	m.nominate(newPod, node)
	if pod.pool == PoolActive || pod.pool == PoolBackoff {
		return
	}
	for _, event := range updates {
		happened := modelEvent{event: event, oldObj: oldPod, newObj: newPod}
		worth := m.worth(pod, happened, false)
		switch {
		case pod.pool == PoolBackoff && worth == Immediately:
			m.requeue(pod, worth, event.Label())
		case pod.pool != PoolBackoff && worth != Skip:
			pod.poppedEarly = pod.poppedEarly && !happened.outside()
			m.requeue(pod, worth, event.Label())
		}
		if pod.pool == PoolActive || pod.pool == PoolBackoff && m.world.popFromBackoff {
			return
		}
	}
}

func (m *model) delete(pod *v1.Pod) {
	m.withdraw(pod.UID)
	delete(m.pods, nameOf(pod))
	m.flightOf(pod).gone = true
}

// pop returns the pod that is to be tried, nil if there is none.
func (m *model) pop() *modelPod {
	for {
		pod := m.first()
		if pod == nil {
			return nil
		}
		if pod.pool == PoolBackoff {
			m.incoming["active PopFromBackoffQ"]++
			pod.poppedEarly = true
		}
		delete(m.pods, nameOf(pod.pod))
		if m.flying[pod.pod.UID] != nil {
			continue
		}
		pod.attempts++
		m.cycles++
		pod.pool = PoolInFlight
		m.flying[pod.pod.UID] = &modelFlight{key: nameOf(pod.pod), events: len(m.events)}
		return pod
	}
}

func (m *model) first() *modelPod {
	if active := m.inOrder(PoolActive); len(active) > 0 {
		return slices.MinFunc(active, m.compare)
	}
	var early []*modelPod
	for _, pod := range m.inOrder(PoolBackoff) {
		if m.mayBePoppedEarly(pod) {
			early = append(early, pod)
		}
	}
	if len(early) == 0 || !m.world.popFromBackoff {
		return nil
	}
	return slices.MinFunc(early, m.compareBackoff)
}

// mayBePoppedEarly says no of pods that failed with an error, and of those of which it was done before.
func (m *model) mayBePoppedEarly(pod *modelPod) bool {
	return pod.rejectors().Len() > 0 && !pod.poppedEarly
}

// compare returns zero for ties, of which slices.MinFunc takes the first.
func (m *model) compare(a, b *modelPod) int {
	return cmp.Or(cmp.Compare(*b.pod.Spec.Priority, *a.pod.Spec.Priority), a.timestamp.Compare(b.timestamp))
}

func (m *model) compareBackoff(a, b *modelPod) int {
	return cmp.Or(a.expiry.Compare(b.expiry), m.compare(a, b))
}

// giveBack returns false if the pod is in the queue already.
func (m *model) giveBack(pod *modelPod) bool {
	flight := m.flying[pod.pod.UID]
	delete(m.flying, pod.pod.UID)
	if m.pods[nameOf(pod.pod)] != nil {
		return false
	}
	if flight != nil && flight.latest != nil {
		pod.pod = flight.latest
	}
	if flight != nil && flight.gone {
		return true
	}
	pod.pool, pod.timestamp, pod.expiry = PoolNone, m.now, time.Time{}
	pod.flushed, pod.flushTime = false, time.Time{}
	if pod.rejectors().Len() == 0 {
		pod.errors++
	} else {
		pod.rejections++
		pod.errors = 0
	}
	m.requeue(pod, m.missed(pod, flight), "ScheduleAttemptFailure")
	return true
}

// missed is what happened during the attempt is worth.
func (m *model) missed(pod *modelPod, flight *modelFlight) Strategy {
	if pod.rejectors().Len() == 0 || flight == nil || len(m.events)-flight.events > m.world.maxInFlightEvents {
		return AfterBackoff
	}
	best := Skip
	for _, event := range m.events[flight.events:] {
		if event.onlyFor == "" || event.onlyFor == pod.pod.UID {
			if worth := m.worth(pod, event, false); worth > best {
				best = worth
				pod.poppedEarly = pod.poppedEarly && !event.outside()
			}
		}
	}
	return best
}

func (m *model) activate(named []*v1.Pod) {
	for _, name := range named {
		pod := m.pods[nameOf(name)]
		switch {
		case pod == nil && m.flying[name.UID] != nil:
			m.record(modelEvent{framework.EventForceActivate(), nil, name, name.UID, false})
		case pod != nil && pod.pool != PoolActive:
			m.requeue(pod, Immediately, "ForceActivate")
		}
	}
}

func (m *model) flushBackoff() {
	pods := m.inOrder(PoolBackoff)
	slices.SortStableFunc(pods, func(a, b *modelPod) int {
		early := m.mayBePoppedEarly(a)
		switch {
		case early && !m.mayBePoppedEarly(b):
			return -1
		case !early && m.mayBePoppedEarly(b):
			return 1
		case !early || !m.world.popFromBackoff:
			return a.expiry.Compare(b.expiry)
		}
		return m.compareBackoff(a, b)
	})
	for _, pod := range pods {
		if !m.backingOff(pod) {
			pod.poppedEarly = false
			m.requeue(pod, Immediately, "BackoffComplete")
		}
	}
}

func (m *model) waitedSince(pod *modelPod) time.Time {
	if pod.flushTime.After(pod.timestamp) {
		return pod.flushTime
	}
	return pod.timestamp
}

func (m *model) flushUnschedulable() {
	flushed := false
	for _, pod := range m.inOrder(PoolUnschedulable, PoolGated) {
		if m.now.Sub(m.waitedSince(pod)) > m.world.maxInUnschedulable {
			pod.flushed, pod.flushTime, flushed = true, m.now, true
			m.requeue(pod, AfterBackoff, "UnschedulableTimeout")
		}
	}
	if flushed {
		m.record(modelEvent{event: framework.EventUnschedulableTimeout()})
	}
}

// nextFlush returns the first instant from now on at which a flush has something to do, found by trying.
func (m *model) nextBackoffFlush() (next time.Time) {
	for _, pod := range m.inOrder(PoolBackoff) {
		end := pod.expiry.Add(time.Nanosecond)
		if m.world.popFromBackoff {
			end = pod.expiry.Add(time.Second)
		}
		if next.IsZero() || end.Before(next) {
			next = end
		}
	}
	return next
}

func (m *model) nextUnschedulableFlush() (next time.Time) {
	for _, pod := range m.inOrder(PoolUnschedulable, PoolGated) {
		end := m.waitedSince(pod).Add(m.world.maxInUnschedulable + 1)
		if next.IsZero() || end.Before(next) {
			next = end
		}
	}
	return next
}

// Nominations.

func (m *model) nominate(pod *v1.Pod, node string) {
	m.withdraw(pod.UID)
	current := pod
	if m.world.lister != nil {
		current = m.world.current[nameOf(pod)]
	}
	if node != "" && current != nil && current.UID == pod.UID && current.Spec.NodeName == "" {
		m.nominations = append(m.nominations, modelNomination{pod.UID, node})
	}
}

func (m *model) withdraw(uid types.UID) {
	m.nominations = slices.DeleteFunc(m.nominations, func(n modelNomination) bool { return n.uid == uid })
}

func (m *model) nominatedNode(uid types.UID) string {
	for _, n := range m.nominations {
		if n.uid == uid {
			return n.node
		}
	}
	return ""
}

func (m *model) nominatedFor(node string) []types.UID {
	var uids []types.UID
	for _, n := range m.nominations {
		if n.node == node {
			uids = append(uids, n.uid)
		}
	}
	return uids
}

// neededEvents is how many events some pod in flight still needs.
func (m *model) neededEvents() int {
	needed := 0
	for _, flight := range m.flying {
		if since := len(m.events) - flight.events; since <= m.world.maxInFlightEvents {
			needed = max(needed, since)
		}
	}
	return needed
}

// byRejector counts the pods in the queue that each plugin rejected.
func (m *model) byRejector() map[string]int {
	counts := map[string]int{}
	for pod := range maps.Values(m.pods) {
		for plugin := range pod.rejectors() {
			counts[plugin]++
		}
	}
	return counts
}
