// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package storm

import (
	"context"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/cache"
	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/queue"
	"github.com/rouse-scheduler/rouse/runtime"
)

const (
	// timeToRest is how much virtual time may pass, once the faults have stopped, until nothing happens any more.
	timeToRest = 30 * time.Minute
	// attemptsToRest is how many attempts there may be meanwhile.
	attemptsToRest = 2000
)

// calmDown stops the faults, waits until nothing happens any more, and judges what has become of every pod.
func (w *world) calmDown() bool {
	w.quiet, w.calm = true, true
	defer func() { w.quiet, w.calm = false, false }()
	for len(w.instances) > 1 {
		w.toggleLeader()
	}
	if len(w.api.objects[nodes]) == 0 { // without any, pods are tried again and again
		w.createNode()
	}
	in := w.instances[0]
	w.rest()
	in.plugin.comeToSenses()
	w.sleep(in)
	if w.violation == nil {
		w.checkAtRest(in)
	}
	if w.violation == nil {
		in.judge()
	}
	return true
}

// sleep lets time pass until nothing happens any more.
func (w *world) sleep(in *instance) {
	end, most := w.clock.now.Add(timeToRest), w.attempts+attemptsToRest
	for w.violation == nil {
		w.rest()
		if w.finishPod() {
			continue
		}
		next, found := w.clock.next()
		if at, backsOff := in.Queue().NextBackoffFlush(); backsOff && (!found || at.Before(next)) {
			next, found = at, true
		}
		if !found {
			return
		}
		if next.After(end) || w.attempts > most {
			w.violate("never rests", "%v after the last fault, pods are still being tried: %s", timeToRest, w.whatGoesOn())
		}
		w.clock.moveTo(next)
	}
}

// checkAtRest compares the scheduler with the API server when nothing happens any more.
func (w *world) checkAtRest(in *instance) {
	stats, counts := in.Queue().Stats(), in.Cache().Counts()
	if stats.Active+stats.Backoff+stats.InFlight+stats.InFlightEvents+counts.AssumedPods+len(in.open)+len(in.waiting()) > 0 {
		w.violate("not at rest", "the queue has %+v, the cache %+v, %d pods are being tried", stats, counts, len(in.open))
	}
	queued, _ := in.Queue().PendingPods()
	var there []*v1.Pod
	for _, pod := range sorted[*v1.Pod](w.api, pods) {
		if unfinished(pod) {
			there = append(there, pod)
		}
	}
	if comparison := in.Cache().Dump().Compare(sorted[*v1.Node](w.api, nodes), there, queued); !comparison.Same() {
		w.violate("cache is wrong", "%+v", comparison)
	}
}

// asked is the snapshot that plugins see when they are asked; it can be replaced.
type asked struct{ fwk.SharedLister }

// asked returns plugins that are asked, and the snapshot that they see.
func (in *instance) asked() (*asked, runtime.Profiles) {
	if in.built == nil {
		in.lister = &asked{}
		var err error
		if in.built, err = in.BuildProfiles(in.ctx, in.lister); err != nil {
			panic(fmt.Sprintf("building plugins to be asked: %v", err))
		}
	}
	return in.lister, in.built
}

// judge checks that every pod that waits for a node has a reason to.
func (in *instance) judge() {
	var waiting, placed []*v1.Pod
	for _, pod := range sorted[*v1.Pod](in.api, pods) {
		switch {
		case !unfinished(pod):
		case pod.Spec.NodeName != "":
			placed = append(placed, pod)
		case len(pod.Spec.SchedulingGates) == 0 && pod.Labels[held] == "":
			waiting = append(waiting, pod)
		}
	}
	if len(waiting) == 0 {
		return
	}
	all := sorted[*v1.Node](in.api, nodes)
	lister, built := in.asked()
	for _, pod := range waiting {
		placed := slices.Concat(placed, in.heldFor(pod))
		lister.SharedLister = cache.NewSnapshot(placed, all)
		statuses := ask(in.ctx, built[pod.Spec.SchedulerName], lister, pod, all)
		for i, node := range all {
			switch status := statuses[i]; {
			case status.IsSuccess():
				in.violate("sleeps although it fits", "pod %s fits on node %s, and is %s", pod.Name, node.Name, in.why(pod))
			case status.Code() == fwk.Unschedulable && in.couldPreempt(built[pod.Spec.SchedulerName], lister, pod, node, placed, all):
				in.violate("sleeps although it could preempt", "pod %s would fit on node %s without less important pods, and is %s", pod.Name, node.Name, in.why(pod))
			}
		}
	}
}

// heldFor returns the pods for which nodes are kept free that a pod may not take, although they do not go there: those that were
// held back after preemption had made room for them, and those that never preempt, which keep the nomination that they have.
func (in *instance) heldFor(pod *v1.Pod) (list []*v1.Pod) {
	for _, other := range sorted[*v1.Pod](in.api, pods) {
		status, _ := in.Queue().Lookup(other.Namespace, other.Name)
		keeps := status.Pool == queue.PoolGated || other.Spec.PreemptionPolicy != nil && *other.Spec.PreemptionPolicy == v1.PreemptNever
		if !keeps || other.UID == pod.UID || *other.Spec.Priority < *pod.Spec.Priority {
			continue
		}
		for _, node := range in.Queue().NominatedNodes() {
			for _, nominated := range in.Queue().NominatedPodsForNode(node) {
				if nominated.GetPod().UID == other.UID {
					placed := *other
					placed.Spec.NodeName = node
					list = append(list, &placed)
				}
			}
		}
	}
	return list
}

func (in *instance) why(pod *v1.Pod) string {
	status, found := in.Queue().Lookup(pod.Namespace, pod.Name)
	if !found {
		return "not in the queue"
	}
	return string(status.Pool) + " because of " + fmt.Sprint(status.UnschedulablePlugins, status.PendingPlugins, status.GatingPlugin)
}

// ask returns what the Filter plugins say about a pod on every node.
func ask(ctx context.Context, profile *runtime.Framework, lister fwk.SharedLister, pod *v1.Pod, all []*v1.Node) []*fwk.Status {
	statuses := make([]*fwk.Status, len(all))
	state := framework.NewCycleState()
	result, status, _ := profile.RunPreFilterPlugins(ctx, state, pod)
	for i, node := range all {
		switch {
		case !status.IsSuccess():
			statuses[i] = status
			continue
		case result != nil && !result.AllNodes() && !result.NodeNames.Has(node.Name):
			statuses[i] = fwk.NewStatus(fwk.UnschedulableAndUnresolvable)
			continue
		}
		info, err := lister.NodeInfos().Get(node.Name)
		if err != nil {
			statuses[i] = fwk.AsStatus(err)
			continue
		}
		statuses[i] = profile.RunFilterPlugins(ctx, state, pod, info)
	}
	return statuses
}

// couldPreempt reports whether a pod fits on a node without the less important pods there.
func (in *instance) couldPreempt(profile *runtime.Framework, lister *asked, pod *v1.Pod, node *v1.Node, placed []*v1.Pod, all []*v1.Node) bool {
	if policy := pod.Spec.PreemptionPolicy; policy != nil && *policy == v1.PreemptNever {
		return false
	}
	rest := slices.DeleteFunc(slices.Clone(placed), func(other *v1.Pod) bool {
		return other.Spec.NodeName == node.Name && *other.Spec.Priority < *pod.Spec.Priority
	})
	if len(rest) == len(placed) {
		return false
	}
	before := lister.SharedLister
	defer func() { lister.SharedLister = before }()
	lister.SharedLister = cache.NewSnapshot(rest, all)
	return ask(in.ctx, profile, lister, pod, []*v1.Node{node})[0].IsSuccess()
}
