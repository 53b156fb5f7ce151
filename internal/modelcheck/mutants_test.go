// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package modelcheck

import "github.com/rouse-scheduler/rouse/internal/mutant"

// mutants are errors that the checker finds.
func mutants() []mutant.Mutant {
	return append(queueMutants(), handlerMutants()...)
}

// queueMutants are errors in the queue, the log of events for pods in flight, gates and the nominator.
func queueMutants() []mutant.Mutant {
	in := func(name, file, find, replace string) mutant.Mutant {
		return mutant.Mutant{Name: name, File: "queue/" + file, Find: find, Replace: replace}
	}
	return []mutant.Mutant{
		in("an event is not kept for pods in flight", "wake.go", "\tq.record(event, \"\")\n", ""),
		in("an update of a pod in flight is forgotten", "queue.go", "if !entry.doneWithEvents {", "if false {"),
		in("the version of an update in flight is forgotten", "decision.go", "if entry.latest != nil {", "if false {"),
		in("a pod deleted in flight comes back", "queue.go", "\tif gone {\n\t\treturn nil\n\t}\n", "\t_ = gone\n"),
		in("the events of the flight do not count", "decision.go", "event := entry.before.next; event != nil &&", "event := entry.before.next; false && event != nil &&"),
		in("only the last event of the flight counts", "decision.go", "v := q.decide(pod, &event.clusterEvent); v.strategy > best.strategy",
			"v := q.decide(pod, &event.clusterEvent); event.next == nil && v.strategy > best.strategy"),
		in("the log forgets what the oldest pod needs", "in_flight.go", "keepAfter = front.Value.(*inFlightPod).before", "_ = front"),
		in("the log keeps what no pod needs", "in_flight.go", "\t\tpod.before, pod.element = nil, nil\n\t\tf.trim()\n", "\t\tpod.before, pod.element = nil, nil\n"),
		in("the log has no limit", "in_flight.go", "f.length > f.limit ||", "false && f.length > f.limit ||"),
		in("an overflowed log wakes no pod", "decision.go", "\tif entry.before == nil {\n\t\treturn decision{strategy: AfterBackoff}", "\tif entry.before == nil {\n\t\treturn decision{}"),
		in("a pod that comes back stays in flight", "queue.go", "\tq.Done(info.Pod.UID) // before the pod can be popped again\n", ""),
		in("a popped pod stays in the queue", "pop.go", "\t\tdelete(q.pods, pod.key())\n", ""),
		in("a deleted pod stays in the queue", "queue.go", "\tq.DeleteNominatedPodIfExists(pod)\n\tq.remove(pod)\n", "\tq.DeleteNominatedPodIfExists(pod)\n"),
		in("a deleted pod stays nominated", "queue.go", "\tq.DeleteNominatedPodIfExists(pod)\n\tq.remove(pod)\n", "\tq.remove(pod)\n"),
		in("an update of a waiting pod wakes no pod", "queue.go", "\tfor _, event := range updates {\n\t\tpool :=", "\tfor _, event := range updates[:0] {\n\t\tpool :="),
		in("an activation in flight is forgotten", "activate.go", "\t\tq.inFlight.record(event, named.UID)\n", ""),
		in("an activation wakes all but the pod", "decision.go", "targeted && target != pod.Pod.UID", "targeted && target == pod.Pod.UID"),
		in("errors back off forever", "flush.go", "range []*podHeap{&q.backoff, &q.fullBackoff} {\n\t\tpod := heap.first()", "range []*podHeap{&q.backoff} {\n\t\tpod := heap.first()"),
		in("gated pods sleep through events", "event_index.go", "return plugin == \"\" || i.plugins.Has(plugin)", "return plugin == \"\""),
		in("an opened gate stays shut", "pre_enqueue.go", "\t\t\tpod.GatingPlugin, pod.GatingPluginEvents = \"\", nil\n", ""),
		in("gates are counted wrong", "unschedulable.go", "\tif pod.pool == PoolGated {\n\t\tu.gated--", "\tif false {\n\t\tu.gated--"),
		in("only one class of pods is asked", "wake.go", "\t\tfor _, class := range group.classes {", "\t\tfor _, class := range group.classes[:min(1, len(group.classes))] {"),
		in("the index keeps pods that left", "unschedulable.go", "\tu.index.remove(pod)\n", ""),
		in("a nomination is half withdrawn", "nominator.go", "\tdelete(n.nodeOf, uid)\n", ""),
		in("a pod that is gone is nominated", "nominator.go", "if !n.waiting(pod.GetPod()) {", "if false {"),
		in("a second nomination is added to the first", "nominator.go", "\tn.delete(pod.GetPod().UID)\n\tn.add(logger, pod, node)\n", "\tn.add(logger, pod, node)\n"),
	}
}

// handlerMutants are errors in the event handlers, in cycles and in preemption.
func handlerMutants() []mutant.Mutant {
	in := func(name, file, find, replace string) mutant.Mutant {
		return mutant.Mutant{Name: name, File: file, Find: find, Replace: replace}
	}
	const pods, nodes = "scheduler/pod_events.go", "scheduler/node_events.go"
	return []mutant.Mutant{
		in("a pod that was bound stays in the queue", pods, "\t\t\ts.queue.Delete(oldPod)\n", ""),
		in("a missed deletion leaves the pod in the queue", pods, "\t\tif s.responsible(pod) {\n\t\t\ts.removeFromQueue(pod)", "\t\tif false {\n\t\t\ts.removeFromQueue(pod)"),
		in("a pod that ends wakes no pod", pods, "\ts.queue.Move(assignedPodDeleted(), pod, nil, nil)\n", ""),
		in("the end of a nominated pod wakes no pod", pods, "case pod.Status.NominatedNodeName != \"\":", "case false:"),
		in("a new node wakes no pod", nodes, "\ts.queue.Move(event, nil, node, nil)\n", ""),
		in("only the first change of a node counts", nodes, "range framework.NodeEvents(oldNode, newNode) {", "range framework.NodeEvents(oldNode, newNode)[:0] {"),
		in("a pod that is skipped stays in flight", "scheduler/schedule_one.go", "\tif s.skip(profile, info.Pod) {\n\t\ts.queue.Done(info.Pod.UID)\n", "\tif s.skip(profile, info.Pod) {\n"),
		in("a failed pod that is gone stays in flight", "scheduler/failure.go", "\t} else {\n\t\ts.queue.Done(a.info.Pod.UID)\n\t}", "\t}"),
		in("a failed pod whose name is taken stays in flight", "scheduler/failure.go", "\tif !ok {\n\t\ts.queue.Done(a.info.Pod.UID)\n", "\tif !ok {\n"),
		in("a failed pod comes back under a name that is taken", "scheduler/failure.go", "case err == nil && current.UID != old.UID:", "case false:"),
		in("a failed attempt nominates no pod", "scheduler/failure.go", "\ts.queue.AddNominatedPod(s.options.Logger, podInfo, f.nomination)\n", ""),
		in("a bound pod stays in flight", "scheduler/binding.go", "\ts.queue.Done(a.pod.UID)\n", ""),
		in("a pod in PreBind is no longer in flight", "scheduler/binding.go", "s.queue.DoneWithEvents(a.pod.UID)", "s.queue.Done(a.pod.UID)"),
		in("a failed binding wakes no pod", "scheduler/binding.go", "\t\ts.queue.MoveAfterFailure(assignedPodDeleted(), a.pod, nil, nil)\n", ""),
		in("a refused binding wakes no pod", "scheduler/binding.go", "\ts.queue.MoveAfterFailure(assignedPodDeleted(), a.pod, nil, func(", "\t_ = (func("),
		in("a failed eviction leaves the preemptor asleep", "plugins/preemption/eviction.go", "if err != nil || !deleted || heldBack {", "if err == nil && (!deleted || heldBack) {"),
		in("an eviction never ends", "plugins/preemption/eviction.go", "\t\tdelete(v.running, e.preemptor.UID)\n", ""),
	}
}
