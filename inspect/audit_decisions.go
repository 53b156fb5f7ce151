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
func (a *auditObserver) Changed(change simulate.Change) {
	observed := a.takeObserved()
	if change.Minor && len(observed.answers) == 0 && remainsUnassigned(change) {
		return
	}
	changed := change.New
	if changed == nil {
		changed = change.Old
	}
	_, isPod := changed.(*v1.Pod)
	_, isNode := changed.(*v1.Node)
	a.evaluator.noteChange(!isPod && !isNode)
	if pod, isPod := change.New.(*v1.Pod); isPod {
		a.updatePod(pod, observed.woken)
	}
	a.evaluate(observedChange{change: change.String, events: change.Events}, observed)
}

// updatePod gives waiting and woken pods the newer version of a pod.
func (a *Auditor) updatePod(pod *v1.Pod, woken []wokenPod) {
	for i := range woken {
		if woken[i].pod.UID == pod.UID {
			woken[i].waitingPod.pod, woken[i].class = pod, nil
		}
	}
	if waiting := a.waitingPod(pod.UID); waiting != nil {
		if a.unfollow(waiting) {
			a.unclassed[waiting] = true
		}
		waiting.pod, waiting.class = pod, nil
	}
}

// remainsUnassigned reports whether a change is that of a pod without a node and without a nominated node, before and after.
func remainsUnassigned(change simulate.Change) bool {
	for _, version := range []any{change.Old, change.New} {
		pod, isPod := version.(*v1.Pod)
		if !isPod || pod.Spec.NodeName != "" || pod.Status.NominatedNodeName != "" {
			return false
		}
	}
	return true
}

// Worked implements simulate.Watcher. A pod that got a node is looked at when its binding is announced.
func (a *auditObserver) Worked() {
	observed := a.takeObserved()
	a.evaluator.noteChange(false)
	if observed.released != nil || len(observed.answers) > 0 {
		a.evaluate(releaseOf(observed.released), observed)
	} else {
		a.completeMissed(observed.woken)
	}
	for _, waiting := range observed.added {
		waiting.last = a.feasibilityOf(waiting)
		switch {
		case waiting.last == nil:
		case waiting.last.feasibleNodes > 0:
			waiting.unevaluated = true
			a.unevaluated++
		case a.stillWaiting(waiting):
			a.follow(waiting)
		}
	}
}

// releaseOf returns the change that a failed attempt makes whose pod had reserved a node; it has no events if the pod is nil.
func releaseOf(pod *v1.Pod) observedChange {
	if pod == nil {
		return observedChange{events: func(types.UID) []fwk.ClusterEvent { return nil }}
	}
	event := fwk.ClusterEvent{Resource: fwk.AssignedPod, ActionType: fwk.Delete}
	return observedChange{
		change: func() string { return fmt.Sprintf("Pod %s/%s was not bound after all", pod.Namespace, pod.Name) },
		events: func(types.UID) []fwk.ClusterEvent { return []fwk.ClusterEvent{event} },
	}
}

// observedChange is a change of the cluster with its events, as a waiting pod receives them.
type observedChange struct {
	change func() string
	events func(waiting types.UID) []fwk.ClusterEvent
}

// feasibilityOf returns which nodes are feasible for a waiting pod now; nil if that cannot be evaluated.
func (a *Auditor) feasibilityOf(s *waitingPod) *feasibility {
	if s.class == nil {
		s.class = a.evaluator.classOf(s.pod)
	}
	if s.class == nil {
		return nil
	}
	return a.feasibilityOfClass(s.class)
}

func (a *Auditor) feasibilityOfClass(c *podClass) *feasibility {
	if a.err != nil {
		return nil
	}
	now, err := a.evaluator.evaluate(c)
	if err != nil {
		a.err = err
	}
	return now
}

// evaluate compares the answers of hints to a change with which pods can be scheduled now.
func (a *Auditor) evaluate(what observedChange, observed observations) {
	a.completeMissed(observed.woken)
	for _, woken := range observed.woken {
		a.evaluateWakeup(woken)
	}
	for _, class := range a.followed {
		a.evaluateClass(class, what, observed)
	}
	for pod := range a.unclassed {
		a.evaluateUnclassed(pod, what, observed)
	}
	for pod, answers := range observed.answers {
		for key, hint := range answers {
			if hint == fwk.QueueSkip && pod.last != nil && !pod.unevaluated {
				a.counts.row(key).RightSkips++ // addMissed takes back those that were wrong
			}
		}
	}
}

// completeMissed completes the missed wake-ups of pods that were woken after all.
func (a *Auditor) completeMissed(woken []wokenPod) {
	for _, pod := range woken {
		a.counts.setWokenBy(pod.missed, pod.at, pod.event)
	}
}

// evaluateWakeup counts a wake-up that a hint decided on.
func (a *Auditor) evaluateWakeup(w wokenPod) {
	if w.plugin == "" || w.last == nil || a.failures.woke(w) {
		return
	}
	now := a.feasibilityOf(w.waitingPod)
	if now == nil {
		return
	}
	row := a.counts.row(rowKey{w.event, w.plugin})
	if now.feasibleNodes > 0 || a.stoppedRejecting(w.waitingPod, now, w.plugin) || enablesPreemption(w.last, now, w.plugin) {
		row.RightWakeups++
	} else {
		row.WastedWakeups++
	}
}

// stoppedRejecting reports whether a plugin accepts the pod on a node that it rejected before, or that is new.
func (a *Auditor) stoppedRejecting(s *waitingPod, now *feasibility, plugin string) bool {
	for _, change := range verdictChanges(s.last, now) {
		if (change.isNew || change.before == plugin) && a.accepts(s, plugin, change) {
			return true
		}
	}
	return false
}

// accepts reports whether a plugin accepts a waiting pod on a node, which another plugin may still reject.
func (a *Auditor) accepts(s *waitingPod, plugin string, on verdictChange) bool {
	switch on.after {
	case "":
		return true
	case plugin:
		return false
	}
	node, err := a.evaluator.snapshot.Get(on.node)
	if err != nil {
		return false
	}
	return newProbe(a.ctx, s.class.profile, s.pod, a.evaluator.nodes()).accepts(plugin, node)
}

// evaluateClass evaluates the waiting pods of a class.
func (a *Auditor) evaluateClass(c *podClass, what observedChange, observed observations) {
	now := a.feasibilityOfClass(c)
	if now == nil || now == c.evaluated {
		return
	}
	var before *feasibility
	var changes []verdictChange // most pods of a class were last evaluated together
	for pod := range c.waiting {
		if pod.last == now {
			continue
		}
		if pod.last != before {
			before, changes = pod.last, verdictChanges(pod.last, now)
		}
		a.evaluateWaiting(pod, now, changes, what, observed.answers[pod])
	}
	c.evaluated = now
}

// evaluateUnclassed evaluates a waiting pod whose latest version has no class yet.
func (a *Auditor) evaluateUnclassed(pod *waitingPod, what observedChange, observed observations) {
	now := a.feasibilityOf(pod)
	if now == nil {
		return
	}
	delete(a.unclassed, pod)
	if now != pod.last {
		a.evaluateWaiting(pod, now, verdictChanges(pod.last, now), what, observed.answers[pod])
	}
	a.follow(pod)
}

// evaluateWaiting notes whether a pod that was not woken became schedulable, and which rejectors should have had it woken. The
// changes are those of the verdicts since its last evaluation.
func (a *Auditor) evaluateWaiting(s *waitingPod, now *feasibility, changes []verdictChange, what observedChange, answers hintAnswers) {
	before := s.last
	s.last = now
	if now.unschedulable() {
		s.unblockedBy = nil
	}
	var missed []MissedBy
	for _, change := range changes {
		s.setMissedOn(change, a.missedBy(s, change, what, answers))
		if change.after == "" {
			missed = append(missed, s.missedOn[change.node]...)
		}
	}
	fits := before.feasibleNodes == 0 && now.feasibleNodes > 0
	preempts := before.unschedulable() && !now.unschedulable()
	if !fits && !preempts || s.pod.DeletionTimestamp != nil {
		return
	}
	if now.feasibleNodes == 0 {
		missed = a.missReasons(s.rejectorsAmong(blockerOn(before, now.preemption.node)), s, what, answers)
	}
	if len(missed) == 0 {
		missed = a.missReasons(s.rejectors, s, what, answers)
	}
	s.unblockedBy = &unblockingChange{events: what.events(s.pod.UID), change: what.change(), missedBy: sortedMissedBy(missed), couldPreempt: !before.unschedulable()}
	a.newlySchedulable = append(a.newlySchedulable, s)
}

// blockerOn returns the plugin that rejected a pod on a node even without the pods of lower priority; empty if none is known.
func blockerOn(j *feasibility, node string) string {
	if i := slices.Index(j.names, node); i >= 0 && i < len(j.preemption.blockedBy) {
		return j.plugins.name(j.preemption.blockedBy[i])
	}
	return ""
}

// enablesPreemption reports whether preemption helps on some node where a plugin prevented it before.
func enablesPreemption(before, now *feasibility, plugin string) bool {
	if before.preemption.node == "" && now.preemption.node != "" {
		return true
	}
	number := before.plugins.number(plugin)
	for i, held := range before.preemption.blockedBy {
		if held == number && i < len(now.preemption.blockedBy) && before.names[i] == now.names[i] && now.preemption.blockedBy[i] != number {
			return true
		}
	}
	return false
}

// rejectorsAmong returns those of the plugins that rejected the pod.
func (s *waitingPod) rejectorsAmong(plugins ...string) []string {
	return slices.DeleteFunc(plugins, func(plugin string) bool { return !slices.Contains(s.rejectors, plugin) })
}

// setMissedOn remembers which plugins missed that they accept a node now, until a rejector rejects it again.
func (s *waitingPod) setMissedOn(on verdictChange, missedBy []MissedBy) {
	switch {
	case len(missedBy) > 0:
		if s.missedOn == nil {
			s.missedOn = map[string][]MissedBy{}
		}
		s.missedOn[on.node] = missedBy
	case slices.Contains(s.rejectors, on.after):
		delete(s.missedOn, on.node)
	}
}

// missedBy returns the rejectors that should have had the pod woken because of their new verdict on a node: the one that
// rejected it before or, on a new node, all that accept it.
func (a *Auditor) missedBy(s *waitingPod, on verdictChange, what observedChange, answers hintAnswers) []MissedBy {
	candidates := []string{on.before}
	if on.isNew {
		candidates = s.rejectors
	}
	var accepting []string
	for _, plugin := range candidates {
		if slices.Contains(s.rejectors, plugin) && a.accepts(s, plugin, on) {
			accepting = append(accepting, plugin)
		}
	}
	return a.missReasons(accepting, s, what, answers)
}

// missReasons says for each plugin and event why the plugin did not have the pod woken.
func (a *Auditor) missReasons(plugins []string, s *waitingPod, what observedChange, answers hintAnswers) []MissedBy {
	var missed []MissedBy
	for _, plugin := range plugins {
		why := map[string]MissReason{}
		for _, event := range what.events(s.pod.UID) {
			why[event.Label()] = a.whyNotAsked(s, plugin, event)
		}
		for key, hint := range answers {
			switch {
			case key.plugin != plugin:
			case hint == fwk.QueueSkip:
				why[key.event] = MissReasonSkipped
			default:
				why[key.event] = MissReasonHeldBack
			}
		}
		if len(why) == 0 {
			why[""] = MissReasonNotAnnounced
		}
		for event, why := range why {
			missed = append(missed, MissedBy{Plugin: plugin, At: a.cluster.Now(), Event: event, Reason: why})
		}
	}
	return sortedMissedBy(missed)
}

// whyNotAsked returns why the hint of a plugin was not called for an event.
func (a *Auditor) whyNotAsked(s *waitingPod, plugin string, event fwk.ClusterEvent) MissReason {
	switch {
	case event.Resource == fwk.UnscheduledPod:
		return MissReasonNotAnnounced
	case s.class.profile.EventMap().Plugins(event).Has(plugin):
		return MissReasonNotAsked
	}
	return MissReasonNotRegistered
}

func sortedMissedBy(missed []MissedBy) []MissedBy {
	slices.SortFunc(missed, func(a, b MissedBy) int {
		return cmp.Or(cmp.Compare(a.At, b.At), strings.Compare(a.Plugin, b.Plugin), strings.Compare(a.Event, b.Event))
	})
	return slices.Compact(missed)
}

// Settled implements simulate.Watcher: a pod that is schedulable now and still waits has missed a wake-up.
func (a *auditObserver) Settled() {
	candidates := a.newlySchedulable
	a.newlySchedulable = nil
	slices.SortFunc(candidates, func(a, b *waitingPod) int {
		return cmp.Or(strings.Compare(a.pod.Namespace, b.pod.Namespace), strings.Compare(a.pod.Name, b.pod.Name))
	})
	for _, waiting := range candidates {
		if waiting.unblockedBy != nil && a.stillWaiting(waiting) {
			a.recordMissed(waiting)
		}
		waiting.unblockedBy = nil
	}
	a.pruneClasses()
}

// pruneClasses drops the classes without waiting pods once they are the larger part.
func (a *Auditor) pruneClasses() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.evaluator.classes) <= 2*len(a.waiting)+16 {
		return
	}
	used := map[*podClass]bool{}
	for _, waiting := range a.waiting {
		used[waiting.class] = true
	}
	a.evaluator.prune(used)
}

// recordMissed records a missed wake-up, unless a PreEnqueue plugin rejects the pod now, or no node is feasible any more.
func (a *Auditor) recordMissed(s *waitingPod) {
	for _, plugin := range s.class.profile.PreEnqueuePlugins() {
		if !plugin.PreEnqueue(a.ctx, s.pod).IsSuccess() {
			return
		}
	}
	a.evaluator.noteChange(false)
	node, victims := a.targetNode(s)
	if node == "" {
		return
	}
	labels := sets.New[string]()
	for _, event := range s.unblockedBy.events {
		labels.Insert(event.Label())
	}
	index := a.counts.addMissed(MissedWakeup{
		At:       a.cluster.Now(),
		Pod:      s.pod.Namespace + "/" + s.pod.Name,
		Profile:  s.pod.Spec.SchedulerName,
		Event:    strings.Join(sets.List(labels), ", "),
		Change:   s.unblockedBy.change,
		Node:     node,
		Victims:  victims,
		MissedBy: s.unblockedBy.missedBy,
	}, s.missed)
	if index >= 0 {
		s.missed = append(s.missed, index)
	}
}

// targetNode returns the node to which a newly schedulable pod would go, and the pods that it would preempt there; the node
// is empty if there is none after all.
func (a *Auditor) targetNode(s *waitingPod) (node string, victims []string) {
	node, err := a.evaluator.bestNode(s.class)
	if err != nil {
		a.err = err
	}
	if now := a.feasibilityOf(s); node == "" && now != nil && !s.unblockedBy.couldPreempt {
		return now.preemption.node, now.preemption.victims
	}
	return node, nil
}

// verdictChange is a node on which another plugin than before, or none, rejects a pod.
type verdictChange struct {
	node string
	// isNew is true of a node without a verdict before. before and after are the rejecting plugins, empty if the pod fits.
	isNew         bool
	before, after string
}

// verdictChanges compares two evaluations.
func verdictChanges(before, now *feasibility) []verdictChange {
	var found []verdictChange
	if sameSlice(before.names, now.names) {
		for i, name := range now.names {
			if before.rejectedBy[i] != now.rejectedBy[i] {
				found = append(found, verdictChange{node: name, before: before.rejectorOn(i), after: now.rejectorOn(i)})
			}
		}
		return found
	}
	byName := make(map[string]pluginNumber, len(before.names))
	for i, name := range before.names {
		byName[name] = before.rejectedBy[i]
	}
	for i, name := range now.names {
		rejectedBefore, known := byName[name]
		if !known || rejectedBefore != now.rejectedBy[i] {
			found = append(found, verdictChange{node: name, isNew: !known, before: before.plugins.name(rejectedBefore), after: now.rejectorOn(i)})
		}
	}
	return found
}
