// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package knownbugs

// Bug is a bug that a scheduler had, and the sequence of events that shows it.
type Bug struct {
	// Name is what the bug is called in tests.
	Name string
	// Issue is where it was reported or repaired, as owner/repository#number.
	Issue string
	// Gates are the feature gates that kube-scheduler only has the bug with, or the feature.
	Gates []string
	play  func(w *World, start func()) error
}

// All returns the bugs in the order of docs/known-bugs.md.
func All() []Bug {
	return []Bug{
		{Name: "victims-gone", Issue: "kubernetes/kubernetes#141694", play: victimsGone},
		{Name: "victim-cancelled-in-prebind", Issue: "kubernetes/kubernetes#140082", play: cancelledInPreBind},
		{Name: "victim-cancelled-in-permit", Issue: "kubernetes/kubernetes#139554", play: cancelledInPermit},
		{Name: "victim-rejected-by-sibling", Issue: "kubernetes-sigs/scheduler-plugins#1008", play: siblingRejects},
		{Name: "gated-preemptor-flushed", Issue: "kubernetes/kubernetes#139162", play: gatedIsFlushed},
		{Name: "gated-pod-flushed", Issue: "kubernetes/kubernetes#139162", play: gatedPodIsFlushed},
		{Name: "slow-deletion", Issue: "kubernetes/kubernetes#134249", play: slowDeletion},
		{Name: "port-freed-first", play: portFreedFirst},
		{Name: "held-back-too-long", play: heldBackTooLong},
		{Name: "anti-affinity-of-several-terms", Issue: "kubernetes/kubernetes#139161", play: antiAffinityOfSeveralTerms},
		{Name: "anti-affinity-of-a-deleted-pod", Issue: "kubernetes/kubernetes#134393", play: antiAffinityOfADeletedPod},
		{Name: "own-labels", Issue: "kubernetes/kubernetes#135394", play: ownLabels},
		{Name: "first-of-its-kind", Issue: "kubernetes/kubernetes#141354", play: firstOfItsKind},
		{Name: "namespaces-by-label", Issue: "kubernetes/kubernetes#141953", play: namespacesByLabel},
		{Name: "narrowing", Issue: "kubernetes/kubernetes#138916", Gates: []string{"SchedulerPreQueueingHints"}, play: narrowing},
		{Name: "claim-deallocation-missed", Issue: "kubernetes/kubernetes#140831", play: claimDeallocationMissed},
		{Name: "nominated-pod-gone", Issue: "kubernetes/kubernetes#135392", play: nominatedPodGone},
		{Name: "nominated-pod-relabelled", Issue: "kubernetes/kubernetes#135392", play: nominatedPodRelabelled},
		{Name: "gated-nomination", Issue: "kubernetes/kubernetes#139057", play: gatedNomination},
		{Name: "nomination-for-no-node", Issue: "kubernetes/kubernetes#139904", play: nominationForNoNode},
		{Name: "recreated", Issue: "kubernetes/kubernetes#138316", play: recreated},
		{Name: "recreated-unseen", Issue: "kubernetes/kubernetes#141255", play: recreatedUnseen},
		{Name: "every-ending", Issue: "koordinator-sh/koordinator#3190", play: everyEnding},
		{Name: "late-bind-failure", Issue: "kubernetes/kubernetes#140478", play: lateBindFailure},
		{Name: "deleted-while-waiting", Issue: "kubernetes/kubernetes#138445", play: deletedWhileWaiting},
		{Name: "deleted-while-binding", Issue: "kubernetes/kubernetes#134217", play: deletedWhileBinding},
	}
}
