// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package storm

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rouse-scheduler/rouse/internal/mutant"
)

// mutants are errors that the storm finds without being told which. The names of those that were made in kube-scheduler, or in a
// plugin of it, begin with the number of the issue: of koordinator with k, of scheduler-plugins with s, of Kubernetes otherwise.
func mutants() []mutant.Mutant {
	return append(mutantsOfPreemption(), append(mutantsOfHandlers(), mutantsOfTheQueue()...)...)
}

func mutantsOfPreemption() []mutant.Mutant {
	const activated = "if err != nil || !deleted || heldBack {"
	in := func(name, find, replace string) mutant.Mutant {
		return mutant.Mutant{Name: name, File: "plugins/preemption/eviction.go", Find: find, Replace: replace}
	}
	return []mutant.Mutant{
		in("141694: the last victim was gone before it was evicted", activated, "if _, _ = deleted, heldBack; err != nil {"),
		in("140082: a victim is called off in PreBind while its preemptor is held back", activated,
			"if _ = heldBack; err != nil || !deleted && !v.wasCancelled(e.victims[len(e.victims)-1]) {"),
		in("s1008: siblings are refused while the preemptor is held back", activated, "if _ = heldBack; err != nil || !deleted {"),
		in("an eviction never ends", "\t\tdelete(v.running, e.preemptor.UID)\n", ""),
	}
}

func mutantsOfHandlers() []mutant.Mutant {
	const affinity, pods, failure, binding = "plugins/interpodaffinity/events.go", "scheduler/pod_events.go", "scheduler/failure.go", "scheduler/binding.go"
	in := func(name, file, find, replace string) mutant.Mutant {
		return mutant.Mutant{Name: name, File: file, Find: find, Replace: replace}
	}
	return []mutant.Mutant{
		in("139161: anti-affinity of several terms", affinity,
			"matchesIf(oldPod, antiAffinity, labelsOfOther, matchesAny)", "matchesIf(oldPod, antiAffinity, labelsOfOther, matchesAll)"),
		in("134393: the anti-affinity of a deleted pod", affinity, "queueIf(matchesAny(terms,", "queueIf(false && matchesAny(terms,"),
		in("135392: the labels of the pod itself", affinity,
			"func afterSelfChange(klog.Logger, *v1.Pod, any, any) (fwk.QueueingHint, error) {\n\treturn fwk.Queue, nil",
			"func afterSelfChange(klog.Logger, *v1.Pod, any, any) (fwk.QueueingHint, error) {\n\treturn fwk.QueueSkip, nil"),
		in("135394: a nominated pod goes", pods, "case pod.Status.NominatedNodeName != \"\":", "case false:"),
		in("135394: the labels of a nominated pod", pods, " || event.ActionType == fwk.UpdatePodLabel", ""),
		in("138316: a pod comes again under its name in the middle of a cycle", failure, "case err == nil && current.UID != old.UID:", "case false:"),
		in("138316: a pod comes again under its name, unseen", pods, "case oldPod.UID != newPod.UID:", "case false:"),
		in("k3190: a failure without Done", failure, "} else {\n\t\ts.queue.Done(a.info.Pod.UID)\n\t}", "}"),
		in("k3190: a failure without Done for a name that is taken", failure, "if !ok {\n\t\ts.queue.Done(a.info.Pod.UID)\n", "if !ok {\n"),
		in("140478: a late failure of a binding wakes no pod", binding, "\t\ts.queue.MoveAfterFailure(assignedPodDeleted(), a.pod, nil, nil)\n", ""),
		in("140478: a refused pod wakes no other", binding, "\ts.queue.MoveAfterFailure(assignedPodDeleted(), a.pod, nil, func(", "\t_ = (func("),
		in("138445: a pod that is deleted while it is bound stays assumed", pods, "if err := s.cache.RemoveAssumedPod(cached); err", "if err := error(nil); err"),
		in("138445: a pod that is deleted while it waits is not refused", pods, "if !profile.RejectWaitingPod(pod.UID) {", "if profile != nil {"),
		in("what a binding corrects wakes no pod", pods, "\tif assumed != nil {\n", "\tif false {\n"),
		in("a pod that was bound stays in the queue", pods, "\t\t\ts.queue.Delete(oldPod)\n", ""),
		in("a missed deletion leaves the pod in the queue", pods, "\t\tif s.responsible(pod) {\n\t\t\ts.removeFromQueue(pod)", "\t\tif false {\n\t\t\ts.removeFromQueue(pod)"),
		in("a pod that is being bound is queued", pods, "\tif s.isAssumed(newPod) {", "\tif false {"),
		in("the response to a binding is lost, and it is not looked up", "scheduler/confirm_binding.go", "\tif assigned(current) {\n", "\tif false {\n"),
		in("a failed preemption is not tried again", "scheduler/find_node.go", "\t\ts.queue.Activate(s.options.Logger, map[string]*v1.Pod{podKey(search.pod): search.info.Pod})\n", "\t\t_ = v1.Pod{}\n"),
	}
}

func mutantsOfTheQueue() []mutant.Mutant {
	in := func(name, file, find, replace string) mutant.Mutant {
		return mutant.Mutant{Name: name, File: "queue/" + file, Find: find, Replace: replace}
	}
	return []mutant.Mutant{
		in("139904: a nomination for no node", "nominator.go", "\tif node == \"\" {\n\t\treturn\n\t}\n", ""),
		in("a pod that is gone is nominated", "nominator.go", "if !n.waiting(pod.GetPod()) {", "if false {"),
		in("an event is not kept for pods in flight", "wake.go", "\tq.record(event, \"\")\n", ""),
		in("the log forgets what the oldest pod needs", "in_flight.go", "keepAfter = front.Value.(*inFlightPod).before", "_ = front"),
		in("an update of a pod in flight is forgotten", "queue.go", "if !entry.doneWithEvents {", "if false {"),
		in("an activation in flight is forgotten", "activate.go", "\t\tq.inFlight.record(event, named.UID)\n", ""),
		in("errors back off forever", "flush.go", "range []*podHeap{&q.backoff, &q.fullBackoff} {\n\t\tpod := heap.first()", "range []*podHeap{&q.backoff} {\n\t\tpod := heap.first()"),
		in("a pod of the same name is taken for the old one", "queue.go", "if pod == nil || pod.Pod.UID != newPod.UID {", "if pod == nil {"),
		in("only one class of pods is asked", "wake.go", "\t\tfor _, class := range group.classes {", "\t\tfor _, class := range group.classes[:1] {"),
	}
}

// mutantSteps is how many steps there are at most for each mutant.
const mutantSteps = "400000"

// TestMutants makes sure that all errors can still be put into the sources. With MUTANTS, a regular expression for names, it puts
// them in and has the storm find each.
func TestMutants(t *testing.T) {
	root, err := mutant.Root()
	if err != nil {
		t.Fatal(err)
	}
	if err := mutant.Check(root, mutants()); err != nil {
		t.Error(err)
	}
	pattern := os.Getenv("MUTANTS")
	if pattern == "" {
		return
	}
	names, err := regexp.Compile(pattern)
	if err != nil {
		t.Fatalf("MUTANTS: %v", err)
	}
	storm := mutant.Test{Package: "internal/storm", Run: "^TestStorm$", Env: []string{"SEED=1", "STEPS=" + mutantSteps}}
	for _, m := range mutants() {
		if !names.MatchString(m.Name) {
			continue
		}
		begun := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
		result, err := storm.Try(ctx, m)
		cancel()
		if err != nil || !result.Found {
			t.Errorf("%s: not found, error %v\n%s", m.Name, err, result.Output)
			continue
		}
		t.Logf("%s | %s | %v", m.Name, found(result.Output), time.Since(begun).Round(time.Second))
	}
}

// found returns what a storm that failed says: the violation, the number of steps that it took, and of events after shrinking.
func found(output string) string {
	var facts []string
	for _, pattern := range []string{
		`seed \d+: ([^:]*):`, `after (\d+) steps`, `in (\d+) events`, `(\d+ steps in \d+ histories, [\d.]+ simulated hours)`, `(panic: .*)`,
	} {
		if match := regexp.MustCompile(pattern).FindStringSubmatch(output); match != nil {
			facts = append(facts, match[1])
		}
	}
	return strings.Join(facts, " | ")
}
