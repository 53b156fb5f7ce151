// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package storm

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	resourcehelpers "k8s.io/component-helpers/resource"

	"github.com/rouse-scheduler/rouse/queue"
	"github.com/rouse-scheduler/rouse/scheduler"
)

// bookkeeping is what a scheduler did, as seen from outside.
type bookkeeping struct {
	// open are the pods whose attempt has begun, and has neither failed nor led to a binding.
	open map[types.UID]*v1.Pod
	// placed has the nodes of the pods that were reserved, and neither given up nor seen bound.
	placed map[types.UID]placement
	// bound has the nodes of the pods whose binding was answered, or confirmed.
	bound map[types.UID]string
	// view is what the scheduler could know when the cycle began, of pods and of nodes.
	view      map[string]*load
	viewNodes map[string]*v1.Node
}

type placement struct {
	pod  *v1.Pod
	node string
}

func newBookkeeping() bookkeeping {
	return bookkeeping{open: map[types.UID]*v1.Pod{}, placed: map[types.UID]placement{}, bound: map[types.UID]string{}}
}

// load is what the pods on a node take.
type load struct {
	cpu   int64 // in thousandths
	pods  int64
	ports []int32
}

func (l *load) add(pod *v1.Pod) {
	l.cpu += requestOf(pod)
	l.pods++
	l.ports = append(l.ports, portsOf(pod)...)
}

func requestOf(pod *v1.Pod) int64 {
	requests := resourcehelpers.PodRequests(pod, resourcehelpers.PodResourcesOptions{})
	return requests.Cpu().MilliValue()
}

func portsOf(pod *v1.Pod) (ports []int32) {
	for _, container := range pod.Spec.Containers {
		for _, port := range container.Ports {
			ports = append(ports, port.HostPort)
		}
	}
	return ports
}

// leaves reports whether a node with this load takes a pod. Once two pods have the same port, which others than one scheduler
// have to bring about, it counts as free when one of them goes, as in kube-scheduler.
func (l *load) leaves(node *v1.Node, pod *v1.Pod, strict bool) bool {
	for _, port := range portsOf(pod) {
		if strict && slices.Contains(l.ports, port) {
			return false
		}
	}
	return l.cpu+requestOf(pod) <= node.Status.Allocatable.Cpu().MilliValue() && l.pods < node.Status.Allocatable.Pods().Value()
}

// observer tells the bookkeeping what the scheduler does.
type observer struct {
	scheduler.NopObserver
	in *instance
}

// AttemptStarted implements scheduler.Observer.
func (o *observer) AttemptStarted(pod *v1.Pod, _ int) {
	in := o.in
	in.attempts++
	in.record("attempt %d %s", in.number, pod.UID)
	if in.open[pod.UID] != nil {
		in.violate("tried twice", "pod %s is tried while an earlier attempt of it goes on", pod.Name)
	}
	in.open[pod.UID] = pod
	in.look()
}

// AttemptFailed implements scheduler.Observer.
func (o *observer) AttemptFailed(failure scheduler.Failure) {
	o.in.record("failed %d %s %s", o.in.number, failure.Pod.UID, failure.Status.Message())
	if o.in.tracing {
		o.in.note("scheduler %d: %s failed: %v", o.in.number, failure.Pod.Name, failure.Status.AsError())
	}
	delete(o.in.open, failure.Pod.UID)
}

// PodBound implements scheduler.Observer.
func (o *observer) PodBound(binding scheduler.Binding) {
	o.in.record("bound %d %s %s", o.in.number, binding.Pod.UID, binding.Node)
	delete(o.in.open, binding.Pod.UID)
}

// look notes what the scheduler can know at the beginning of a cycle: what its informers show, and where it placed pods itself.
func (in *instance) look() {
	in.view, in.viewNodes = map[string]*load{}, map[string]*v1.Node{}
	for _, o := range in.informers[nodes].Known().List() {
		in.viewNodes[o.(*v1.Node).Name] = o.(*v1.Node)
	}
	at := func(node string) *load {
		if in.view[node] == nil {
			in.view[node] = &load{}
		}
		return in.view[node]
	}
	known := in.informers[pods].Known()
	for _, o := range known.List() {
		if pod := o.(*v1.Pod); pod.Spec.NodeName != "" {
			at(pod.Spec.NodeName).add(pod)
		}
	}
	for uid, placed := range in.placed {
		o, exists, _ := known.GetByKey(key(placed.pod))
		if !exists || o.(*v1.Pod).UID != uid || o.(*v1.Pod).Spec.NodeName != "" || o.(*v1.Pod).DeletionTimestamp != nil {
			delete(in.placed, uid)
			continue
		}
		at(placed.node).add(placed.pod)
	}
}

// reserved is called when a node was chosen.
func (in *instance) reserved(pod *v1.Pod, node string) {
	in.placed[pod.UID] = placement{pod, node}
	on := in.view[node]
	if on == nil {
		on = &load{}
	}
	known := in.viewNodes[node]
	if known == nil {
		in.violate("over capacity", "scheduler %d gives pod %s to node %s, of which it could not know", in.number, pod.Name, node)
		return
	}
	if !on.leaves(known, pod, in.strict) {
		in.violate("over capacity", "scheduler %d gives node %s to pod %s, which does not fit there by all that the scheduler could know: %+v on %v",
			in.number, node, pod.Name, *on, known.Status.Allocatable)
	}
}

func (in *instance) unreserved(pod *v1.Pod) { delete(in.placed, pod.UID) }

// bindingSent is called before a binding is sent.
func (in *instance) bindingSent(binding *v1.Binding) {
	in.note("scheduler %d binds %s to %s", in.number, binding.Name, binding.Target.Name)
	if node, before := in.bound[binding.UID]; before {
		in.violate("bound twice", "scheduler %d binds pod %s to node %s, and knows that it is bound to %s", in.number, binding.Name, binding.Target.Name, node)
	}
	if in.open[binding.UID] == nil && !in.ended {
		in.violate("bound twice", "scheduler %d binds pod %s without an attempt", in.number, binding.Name)
	}
}

// confirmed is called when the scheduler was shown a pod with a node. Another node than its own is what another client chose.
func (in *instance) confirmed(pod *v1.Pod) {
	if in.placed[pod.UID].node == pod.Spec.NodeName {
		in.bound[pod.UID] = pod.Spec.NodeName
	}
}

// bindingLanded is called when the API server has carried out a binding.
func (in *instance) bindingLanded(binding *v1.Binding) {
	in.bindings++
	if !in.strict {
		return
	}
	node, on := in.api.node(binding.Target.Name), &load{}
	for _, pod := range sorted[*v1.Pod](in.api, pods) {
		if pod.Spec.NodeName == binding.Target.Name && unfinished(pod) && pod.UID != binding.UID {
			on.add(pod)
		}
	}
	if node != nil && !on.leaves(node, in.api.pod(binding.Name), true) {
		in.violate("over capacity", "node %s gets pod %s, and has %+v before by the API server, of %v", node.Name, binding.Name, *on, node.Status.Allocatable)
	}
}

// check is called after every step.
func (in *instance) check() {
	stats := in.Queue().Stats()
	if stats.InFlight > len(in.open)+len(in.threads) {
		in.violate("in flight forever", "%d pods are in flight, and %d are being tried", stats.InFlight, len(in.open))
	}
	if len(in.open) == 0 && len(in.threads) == 0 && stats.InFlight+stats.InFlightEvents > 0 {
		in.violate("in flight forever", "%d pods are in flight and %d events kept for them, and no pod is being tried", stats.InFlight, stats.InFlightEvents)
	}
	if in.pending(pods) > 0 {
		return
	}
	if assumed := in.Cache().Counts().AssumedPods; assumed > len(in.open)+len(in.threads) {
		in.violate("assumed forever", "%d pods are assumed, and %d are being tried or bound", assumed, len(in.open))
	}
	for _, waiting := range in.waiting() {
		if in.open[waiting.GetPod().UID] == nil {
			in.violate("waits forever", "pod %s waits for permission, and is not being tried", waiting.GetPod().Name)
		}
	}
	in.checkPlaces()
	in.checkNominations()
}

// checkPlaces checks that every pod without a node is in one place, and that no other is.
func (in *instance) checkPlaces() {
	queued, _ := in.Queue().PendingPods()
	places := map[types.UID]int{}
	for _, pod := range queued {
		places[pod.UID]++
		current := in.api.pod(pod.Name)
		if current == nil || current.UID != pod.UID || current.Spec.NodeName != "" || !unfinished(current) {
			in.violate("queued forever", "pod %s (%s) is in the queue, and does not wait for a node: %s", pod.Name, pod.UID, describe(current))
		}
	}
	for _, o := range in.api.objects[pods] {
		pod := o.(*v1.Pod)
		if pod.Spec.NodeName != "" || pod.DeletionTimestamp != nil || !unfinished(pod) {
			continue
		}
		switch tried := in.open[pod.UID] != nil; {
		case places[pod.UID] > 1 || places[pod.UID] == 1 && tried:
			in.violate("in two places", "pod %s is in the queue %d times, being tried: %v", pod.Name, places[pod.UID], tried)
		case places[pod.UID] == 0 && !tried:
			in.violate("lost", "pod %s waits for a node, and scheduler %d neither has it in its queue nor tries it; it looks it up as %+v",
				pod.Name, in.number, in.place(pod))
		}
	}
}

func (in *instance) place(pod *v1.Pod) queue.Pool {
	status, _ := in.Queue().Lookup(pod.Namespace, pod.Name)
	return status.Pool
}

func describe(pod *v1.Pod) string {
	switch {
	case pod == nil:
		return "there is no such pod"
	case pod.Spec.NodeName != "":
		return "it is on node " + pod.Spec.NodeName
	}
	return "the pod of that name is " + string(pod.UID) + " " + string(pod.Status.Phase)
}

// checkNominations checks that only pods that wait for a node are nominated for one.
func (in *instance) checkNominations() {
	for _, node := range in.Queue().NominatedNodes() {
		if node == "" {
			in.violate("nominated for no node", "a pod is nominated for a node without a name")
		}
		for _, nominated := range in.Queue().NominatedPodsForNode(node) {
			pod := nominated.GetPod()
			if current := in.api.pod(pod.Name); current == nil || current.UID != pod.UID || current.Spec.NodeName != "" {
				in.violate("nominated forever", "pod %s (%s) is nominated for node %s: %s", pod.Name, pod.UID, node, describe(current))
			}
		}
	}
}
