// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package knownbugs_test

import (
	"maps"
	"os"
	"testing"

	"github.com/rouse-scheduler/rouse/internal/knownbugs"
	"github.com/rouse-scheduler/rouse/internal/mutant"
)

// mutants put the bugs into Rouse, by the name of the bug.
func mutants() map[string][]mutant.Mutant {
	all := mutantsOfHints()
	maps.Copy(all, mutantsOfPreemption())
	maps.Copy(all, mutantsOfTheQueue())
	return all
}

func mutantsOfPreemption() map[string][]mutant.Mutant {
	const eviction, activates = "plugins/preemption/eviction.go", "if err != nil || !deleted || heldBack {"
	notActivated := mutant.Mutant{File: eviction, Find: activates, Replace: "if _, _ = deleted, heldBack; err != nil {"}
	eventsLost := mutant.Mutant{File: eviction, Find: activates, Replace: "if _ = heldBack; err != nil || !deleted {"}
	notFlushed := mutant.Mutant{
		File:    "queue/flush.go",
		Find:    "\t\tpod.decision = decision{strategy: AfterBackoff}\n\t\tdue = append(due, pod)\n",
		Replace: "\t\tif !pod.Gated() {\n\t\t\tpod.decision = decision{strategy: AfterBackoff}\n\t\t\tdue = append(due, pod)\n\t\t}\n",
	}
	return map[string][]mutant.Mutant{
		"victims-gone":                {notActivated},
		"victim-cancelled-in-prebind": {notActivated},
		"victim-cancelled-in-permit":  {notActivated},
		"victim-rejected-by-sibling":  {eventsLost},
		"gated-preemptor-flushed":     {notFlushed, eventsLost},
		"gated-pod-flushed":           {notFlushed},
		"slow-deletion": {{
			File: eviction, Find: "e.heldBack = last != nil && last.DeletionTimestamp == nil", Replace: "e.heldBack = last != nil && false",
		}},
		"port-freed-first":   {eventsLost},
		"held-back-too-long": {eventsLost},
	}
}

func mutantsOfHints() map[string][]mutant.Mutant {
	const affinity, claims, wake = "plugins/interpodaffinity/events.go", "plugins/dynamicresources/events.go", "queue/wake.go"
	return map[string][]mutant.Mutant{
		"anti-affinity-of-several-terms": {{
			File:    affinity,
			Find:    "matchesIf(oldPod, antiAffinity, labelsOfOther, matchesAny)",
			Replace: "matchesIf(oldPod, antiAffinity, labelsOfOther, matchesAll)",
		}},
		"anti-affinity-of-a-deleted-pod": {{File: affinity, Find: "queueIf(matchesAny(terms,", Replace: "queueIf(false && matchesAny(terms,"}},
		"own-labels": {{
			File:    affinity,
			Find:    "func afterSelfChange(klog.Logger, *v1.Pod, any, any) (fwk.QueueingHint, error) {\n\treturn fwk.Queue, nil",
			Replace: "func afterSelfChange(klog.Logger, *v1.Pod, any, any) (fwk.QueueingHint, error) {\n\treturn fwk.QueueSkip, nil",
		}},
		"first-of-its-kind": {{File: affinity, Find: "return matchesAll(affinity, pod,", Replace: "return false && matchesAll(affinity, pod,"}},
		"namespaces-by-label": {{
			File: affinity, Find: "matchesIf(newPod, affinity, labelsOfOther,", Replace: "matchesIf(newPod, affinity, nil,",
		}},
		"narrowing": {
			{File: wake, Find: "\t// woken has the pods", Replace: "\tnarrowed bool\n\t// woken has the pods"},
			{File: wake, Find: "&s.event); ok {\n", Replace: "&s.event); ok {\n\t\ts.narrowed = true\n"},
			{File: wake, Find: "range groups {\n", Replace: "range groups {\n\t\tif s.narrowed {\n\t\t\tbreak\n\t\t}\n"},
		},
		"claim-deallocation-missed": {
			{File: claims, Find: "unknown {\n\t\treturn fwk.Queue, nil", Replace: "unknown {\n\t\treturn fwk.QueueSkip, nil"},
			{File: claims, Find: "old == nil || old.Status.Allocation != nil || isFor", Replace: "old == nil || isFor"},
		},
		"nominated-pod-gone": {{
			File: affinity, Find: " || pod.Spec.NodeName != \"\" || pod.Status.NominatedNodeName != \"\"", Replace: " || pod.Spec.NodeName != \"\"",
		}},
	}
}

func mutantsOfTheQueue() map[string][]mutant.Mutant {
	const failure, podEvents = "scheduler/failure.go", "scheduler/pod_events.go"
	return map[string][]mutant.Mutant{
		"nominated-pod-relabelled": {{File: podEvents, Find: " || event.ActionType == fwk.UpdatePodLabel"}},
		"gated-nomination": {{
			File:    "queue/queue.go",
			Find:    "\tq.AddNominatedPod(q.logger, info.PodInfo, nil)\n",
			Replace: "\tif len(info.Pod.Spec.SchedulingGates) == 0 {\n\t\tq.AddNominatedPod(q.logger, info.PodInfo, nil)\n\t}\n",
		}},
		"nomination-for-no-node": {{File: "queue/nominator.go", Find: "\tif node == \"\" {\n\t\treturn\n\t}\n"}},
		"recreated":              {{File: failure, Find: "if !ok {\n\t\ts.queue.Done(a.info.Pod.UID)\n", Replace: "if !ok {\n"}},
		"recreated-unseen":       {{File: podEvents, Find: "case oldPod.UID != newPod.UID:", Replace: "case false:"}},
		"every-ending":           {{File: failure, Find: "} else {\n\t\ts.queue.Done(a.info.Pod.UID)\n\t}", Replace: "}"}},
		"late-bind-failure": {{
			File:    "scheduler/binding.go",
			Find:    "a.pod, nil, nil)\n\t\ts.handleFailure(ctx, a, f)\n",
			Replace: "a.pod, nil, nil)\n",
		}},
		"deleted-while-waiting": {{File: podEvents, Find: "if !profile.RejectWaitingPod(pod.UID) {", Replace: "if profile != nil {"}},
		"deleted-while-binding": {{File: podEvents, Find: "if err := s.cache.RemoveAssumedPod(cached); err", Replace: "if err := error(nil); err"}},
	}
}

// TestMutants has every sequence find its bug in Rouse, if PROVE is set; it takes seconds for each. Otherwise it makes sure
// that every bug can still be put in.
func TestMutants(t *testing.T) {
	root, err := mutant.Root()
	if err != nil {
		t.Fatal(err)
	}
	all := mutants()
	for _, bug := range knownbugs.All() {
		t.Run(bug.Name, func(t *testing.T) {
			if len(all[bug.Name]) == 0 {
				t.Fatal("no mutant")
			}
			for i := range all[bug.Name] { // one by one, as they have no names
				if err := mutant.Check(root, all[bug.Name][i:i+1]); err != nil {
					t.Error(err)
				}
			}
			if os.Getenv("PROVE") == "" {
				return
			}
			test := mutant.Test{Package: "internal/knownbugs", Run: "^TestKnownBugs$/^" + bug.Name + "$"}
			result, err := test.Try(t.Context(), all[bug.Name]...)
			if err != nil || !result.Found {
				t.Errorf("not found with the bug put in, error %v:\n%s", err, result.Output)
			}
		})
	}
}
