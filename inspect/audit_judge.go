// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/simulate"
)

// Changed implements simulate.Watcher.
func (a *Auditor) Changed(change simulate.Change) {
	news := a.take()
	if change.Minor && len(news.said) == 0 && staysWaiting(change) {
		return
	}
	changed := change.New
	if changed == nil {
		changed = change.Old
	}
	_, isPod := changed.(*v1.Pod)
	_, isNode := changed.(*v1.Node)
	a.truth.changes(!isPod && !isNode)
	sleepers := a.sleepers()
	if pod, isPod := change.New.(*v1.Pod); isPod {
		takeOver(pod, sleepers, news.woken)
	}
	a.judge(happening{change: change.String(), events: change.Events}, sleepers, news)
}

// takeOver gives sleepers the newer version of a pod that they are.
func takeOver(pod *v1.Pod, sleepers []*sleeper, woken []waking) {
	for _, waking := range woken {
		sleepers = append(sleepers, waking.sleeper)
	}
	for _, sleeper := range sleepers {
		if sleeper.pod.UID == pod.UID {
			sleeper.pod, sleeper.class = pod, nil
		}
	}
}

// staysWaiting tells of a change of a pod that it is and was without a node and a nomination.
func staysWaiting(change simulate.Change) bool {
	for _, version := range []any{change.Old, change.New} {
		pod, isPod := version.(*v1.Pod)
		if !isPod || pod.Spec.NodeName != "" || pod.Status.NominatedNodeName != "" {
			return false
		}
	}
	return true
}

// Worked implements simulate.Watcher. That a pod was given a node is left for when it is announced.
func (a *Auditor) Worked() {
	news := a.take()
	a.truth.changes(false)
	if news.released != nil || len(news.said) > 0 {
		a.judge(releasing(news.released), a.sleepers(), news)
	} else {
		a.close(news.woken)
	}
	for _, fallen := range news.fallen {
		fallen.known = a.judgementOf(fallen)
		if fallen.known != nil && fallen.known.fits > 0 {
			fallen.unjudged = true
			a.unjudged++
		}
	}
}

// releasing is what happens when an attempt fails whose pod had got a node; nil if there is none.
func releasing(pod *v1.Pod) happening {
	if pod == nil {
		return happening{events: func(types.UID) []fwk.ClusterEvent { return nil }}
	}
	event := fwk.ClusterEvent{Resource: fwk.AssignedPod, ActionType: fwk.Delete}
	return happening{
		change: fmt.Sprintf("Pod %s/%s was not bound after all", pod.Namespace, pod.Name),
		events: func(types.UID) []fwk.ClusterEvent { return []fwk.ClusterEvent{event} },
	}
}

// happening is a change in the eyes of the auditor; events tells what it is to a waiting pod.
type happening struct {
	change string
	events func(waiting types.UID) []fwk.ClusterEvent
}

// judgementOf returns what is true of a sleeper now; nil if that cannot be told.
func (a *Auditor) judgementOf(s *sleeper) *judgement {
	if s.class == nil {
		s.class = a.truth.classOf(s.pod)
	}
	if s.class == nil || a.fault != nil {
		return nil
	}
	judgement, err := a.truth.judge(s.class)
	if err != nil {
		a.fault = err
	}
	return judgement
}

// judge compares what the hints said to something that happened with what is true now.
func (a *Auditor) judge(what happening, sleepers []*sleeper, news news) {
	a.close(news.woken)
	for _, waking := range news.woken {
		a.judgeWaking(waking)
	}
	for _, sleeper := range sleepers {
		if sleeper.known != nil && !sleeper.unjudged {
			a.judgeSleep(sleeper, what, news.said[sleeper])
		}
	}
	for sleeper, said := range news.said {
		for key, hint := range said {
			if hint == fwk.QueueSkip && sleeper.known != nil && !sleeper.unjudged {
				a.ledger.row(key).RightSkips++ // until it is known better
			}
		}
	}
}

// close completes what pods missed that do not sleep any more.
func (a *Auditor) close(woken []waking) {
	for _, waking := range woken {
		a.ledger.wokeUp(waking.missed, waking.at, waking.event)
	}
}

// judgeWaking counts a waking that a plugin asked for.
func (a *Auditor) judgeWaking(w waking) {
	if w.plugin == "" || w.known == nil || a.failures.woke(w) {
		return
	}
	now := a.judgementOf(w.sleeper)
	if now == nil {
		return
	}
	row := a.ledger.row(rowKey{w.event, w.plugin})
	if now.fits > 0 || a.gaveWay(w.sleeper, now, w.plugin) || letsPreempt(w.known, now, w.plugin) {
		row.RightWakeups++
	} else {
		row.WastedWakeups++
	}
}

// gaveWay tells whether a plugin takes the pod on a node where it did not before, or that is new.
func (a *Auditor) gaveWay(s *sleeper, now *judgement, plugin string) bool {
	for _, shift := range shifts(s.known, now) {
		if (shift.isNew || shift.before == plugin) && a.accepts(s, plugin, shift) {
			return true
		}
	}
	return false
}

// accepts tells whether a plugin takes the pod of a sleeper on a node that another may still reject.
func (a *Auditor) accepts(s *sleeper, plugin string, on shift) bool {
	switch on.now {
	case "":
		return true
	case plugin:
		return false
	}
	node, err := a.truth.snapshot.Get(on.node)
	if err != nil {
		return false
	}
	return newProbe(a.ctx, s.class.profile, s.pod, a.truth.nodes()).accepts(plugin, node)
}

// judgeSleep notes whether a pod that sleeps on came to fit, and which rejectors should have said so.
func (a *Auditor) judgeSleep(s *sleeper, what happening, said answers) {
	now := a.judgementOf(s)
	if now == nil || now == s.known {
		return
	}
	before := s.known
	s.known = now
	if now.hopeless() {
		s.turn = nil
	}
	var blame []Blame
	for _, shift := range shifts(before, now) {
		s.lets(shift, a.guilty(s, shift, what, said))
		if shift.now == "" {
			blame = append(blame, s.let[shift.node]...)
		}
	}
	fits := before.fits == 0 && now.fits > 0
	preempts := before.hopeless() && !now.hopeless()
	if !fits && !preempts || s.pod.DeletionTimestamp != nil {
		return
	}
	if now.fits == 0 {
		blame = a.blame(s.rejectorsAmong(heldBy(before, now.room.node)), s, what, said)
	}
	if len(blame) == 0 {
		blame = a.blame(s.rejectors, s, what, said)
	}
	s.turn = &turn{events: what.events(s.pod.UID), change: what.change, blame: sortedBlame(blame), hadRoom: !before.hopeless()}
	a.turned = append(a.turned, s)
}

// heldBy returns who kept a pod off a node even if pods of lower priority went; empty if nobody knows.
func heldBy(j *judgement, node string) string {
	if i := slices.Index(j.names, node); i >= 0 && i < len(j.room.heldBy) {
		return j.room.heldBy[i]
	}
	return ""
}

// letsPreempt tells whether preemption helps on some node where it did not before because of a plugin.
func letsPreempt(before, now *judgement, plugin string) bool {
	if before.room.node == "" && now.room.node != "" {
		return true
	}
	for i, held := range before.room.heldBy {
		if held == plugin && i < len(now.room.heldBy) && before.names[i] == now.names[i] && now.room.heldBy[i] != plugin {
			return true
		}
	}
	return false
}

// rejectorsAmong returns those of the plugins that rejected the pod.
func (s *sleeper) rejectorsAmong(plugins ...string) []string {
	return slices.DeleteFunc(plugins, func(plugin string) bool { return !slices.Contains(s.rejectors, plugin) })
}

// lets remembers who let a node pass, until a rejector rejects it again.
func (s *sleeper) lets(on shift, guilty []Blame) {
	switch {
	case len(guilty) > 0:
		if s.let == nil {
			s.let = map[string][]Blame{}
		}
		s.let[on.node] = guilty
	case slices.Contains(s.rejectors, on.now):
		delete(s.let, on.node)
	}
}

// guilty returns the rejectors that should have had the pod woken because of what they now think of a node: the one that
// rejected it before or, on a new node, all that take it.
func (a *Auditor) guilty(s *sleeper, on shift, what happening, said answers) []Blame {
	suspects := []string{on.before}
	if on.isNew {
		suspects = s.rejectors
	}
	var guilty []string
	for _, plugin := range suspects {
		if slices.Contains(s.rejectors, plugin) && a.accepts(s, plugin, on) {
			guilty = append(guilty, plugin)
		}
	}
	return a.blame(guilty, s, what, said)
}

// blame says for each plugin and event why the plugin did not have the pod woken.
func (a *Auditor) blame(plugins []string, s *sleeper, what happening, said answers) []Blame {
	var blame []Blame
	for _, plugin := range plugins {
		why := map[string]Why{}
		for _, event := range what.events(s.pod.UID) {
			why[event.Label()] = a.whyNotAsked(s, plugin, event)
		}
		for key, hint := range said {
			switch {
			case key.plugin != plugin:
			case hint == fwk.QueueSkip:
				why[key.event] = WhySkipped
			default:
				why[key.event] = WhyHeldBack
			}
		}
		if len(why) == 0 {
			why[""] = WhyNotAnnounced
		}
		for event, why := range why {
			blame = append(blame, Blame{Plugin: plugin, At: a.cluster.Now(), Event: event, Why: why})
		}
	}
	return sortedBlame(blame)
}

// whyNotAsked says why a plugin has nothing to do with an event.
func (a *Auditor) whyNotAsked(s *sleeper, plugin string, event fwk.ClusterEvent) Why {
	switch {
	case event.Resource == fwk.UnscheduledPod:
		return WhyNotAnnounced
	case s.class.profile.EventMap().Plugins(event).Has(plugin):
		return WhyNotAsked
	}
	return WhyNotRegistered
}

func sortedBlame(blame []Blame) []Blame {
	slices.SortFunc(blame, func(a, b Blame) int {
		return cmp.Or(cmp.Compare(a.At, b.At), strings.Compare(a.Plugin, b.Plugin), strings.Compare(a.Event, b.Event))
	})
	return slices.Compact(blame)
}

// Settled implements simulate.Watcher: who still sleeps and fits now has missed something.
func (a *Auditor) Settled() {
	turned := a.turned
	a.turned = nil
	slices.SortFunc(turned, func(a, b *sleeper) int {
		return cmp.Or(strings.Compare(a.pod.Namespace, b.pod.Namespace), strings.Compare(a.pod.Name, b.pod.Name))
	})
	for _, sleeper := range turned {
		if sleeper.turn != nil && a.sleeps(sleeper) {
			a.miss(sleeper)
		}
		sleeper.turn = nil
	}
	a.forgetClasses()
}

// forgetClasses drops the classes of pods that sleep no more, now and then.
func (a *Auditor) forgetClasses() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.truth.classes) <= 2*len(a.asleep)+16 {
		return
	}
	used := map[*class]bool{}
	for _, sleeper := range a.asleep {
		used[sleeper.class] = true
	}
	a.truth.forget(used)
}

// miss enters a missed wake-up, unless the pod would be gated, or cannot go anywhere any more.
func (a *Auditor) miss(s *sleeper) {
	for _, gate := range s.class.profile.PreEnqueuePlugins() {
		if !gate.PreEnqueue(a.ctx, s.pod).IsSuccess() {
			return
		}
	}
	a.truth.changes(false)
	node, victims := a.destination(s)
	if node == "" {
		return
	}
	labels := sets.New[string]()
	for _, event := range s.turn.events {
		labels.Insert(event.Label())
	}
	entered := a.ledger.miss(MissedWakeup{
		At:      a.cluster.Now(),
		Pod:     s.pod.Namespace + "/" + s.pod.Name,
		Profile: s.pod.Spec.SchedulerName,
		Event:   strings.Join(sets.List(labels), ", "),
		Change:  s.turn.change,
		Node:    node,
		Victims: victims,
		Blame:   s.turn.blame,
	}, s.missed)
	if entered >= 0 {
		s.missed = append(s.missed, entered)
	}
}

// destination returns where a sleeper would go that came to have a chance, and whom it would preempt there; empty if it
// has none after all.
func (a *Auditor) destination(s *sleeper) (node string, victims []string) {
	node, err := a.truth.bestNode(s.class)
	if err != nil {
		a.fault = err
	}
	if now := a.judgementOf(s); node == "" && now != nil && !s.turn.hadRoom {
		return now.room.node, now.room.victims
	}
	return node, nil
}

// shift is a node on which other plugins, or none, reject a pod than before.
type shift struct {
	node string
	// isNew tells that nothing was said about the node before. before and now are plugins, empty if the pod fits.
	isNew       bool
	before, now string
}

// shifts compares two judgements.
func shifts(before, now *judgement) []shift {
	var found []shift
	if sameNames(before.names, now.names) {
		for i, name := range now.names {
			if before.rejectedBy[i] != now.rejectedBy[i] {
				found = append(found, shift{node: name, before: before.rejectedBy[i], now: now.rejectedBy[i]})
			}
		}
		return found
	}
	byName := make(map[string]string, len(before.names))
	for i, name := range before.names {
		byName[name] = before.rejectedBy[i]
	}
	for i, name := range now.names {
		rejectedBefore, known := byName[name]
		if !known || rejectedBefore != now.rejectedBy[i] {
			found = append(found, shift{node: name, isNew: !known, before: rejectedBefore, now: now.rejectedBy[i]})
		}
	}
	return found
}
