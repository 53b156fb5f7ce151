// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package preemption

import (
	"context"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// MoreImportantPod reports whether a is to be evicted only after b: it has a higher priority or, with the same, has been
// running for longer. A pod that has not started counts as starting now.
func MoreImportantPod(a, b *v1.Pod, now time.Time) bool {
	return moreImportant(corev1helpers.PodPriority(a), corev1helpers.PodPriority(b), a.Status.StartTime, b.Status.StartTime, now)
}

// moreImportantInfo is [MoreImportantPod] for pods that may be compact.
func moreImportantInfo(a, b fwk.PodInfo, now time.Time) bool {
	ofA, ofB := framework.ViewPod(a), framework.ViewPod(b)
	return moreImportant(ofA.Priority(), ofB.Priority(), ofA.StartTime(), ofB.StartTime(), now)
}

func moreImportant(priorityA, priorityB int32, startA, startB *metav1.Time, now time.Time) bool {
	if priorityA != priorityB {
		return priorityA > priorityB
	}
	return startOf(startA, now).Before(startOf(startB, now))
}

// startOf returns when a pod was started; now if it was not yet.
func startOf(start *metav1.Time, now time.Time) time.Time {
	if start != nil {
		return start.Time
	}
	return now
}

// SelectVictimsOnNode implements [Hooks]. It takes all pods of lower priority that may be evicted from the node, and then
// puts back, the most important first, each that leaves the pod enough room; but before all others those whose
// disruption budget does not allow their eviction.
func (h *DefaultHooks) SelectVictimsOnNode(
	ctx context.Context, state fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo, budgets []*policyv1.PodDisruptionBudget,
) ([]*v1.Pod, int, *fwk.Status) {
	var potential []fwk.PodInfo
	for _, other := range framework.View(node).Pods() {
		if h.canPreempt(node, other, pod) {
			potential = append(potential, other)
		}
	}
	if len(potential) == 0 {
		return nil, 0, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, reasonNoVictims)
	}
	t := &trial{handle: h.handle, state: state, pod: pod, node: node}
	for _, victim := range potential {
		if status := t.remove(ctx, victim); !status.IsSuccess() {
			return nil, 0, status
		}
	}
	if status := t.filter(ctx); !status.IsSuccess() {
		return nil, 0, status
	}
	order := h.byImportance()
	slices.SortStableFunc(potential, order)
	protected, others := SplitByBudgets(potential, budgets)
	victims, status := t.reprieve(ctx, protected)
	if !status.IsSuccess() {
		return nil, 0, status
	}
	violations := len(victims)
	more, status := t.reprieve(ctx, others)
	if !status.IsSuccess() {
		return nil, 0, status
	}
	victims = append(victims, more...)
	slices.SortStableFunc(victims, order)
	pods := make([]*v1.Pod, len(victims))
	for i, victim := range victims {
		pods[i] = victim.GetPod()
	}
	return pods, violations, nil
}

// byImportance returns a comparison that puts more important pods first. All its answers refer to the same moment.
func (h *DefaultHooks) byImportance() func(a, b fwk.PodInfo) int {
	moreImportant := h.moreImportant
	if moreImportant == nil {
		now := h.clock.Now()
		moreImportant = func(a, b fwk.PodInfo) bool { return moreImportantInfo(a, b, now) }
	}
	exhaustive := isExhaustive(h.handle)
	return func(a, b fwk.PodInfo) int {
		switch {
		case moreImportant(a, b):
			return -1
		case moreImportant(b, a):
			return 1
		case exhaustive: // the order of the pods on a node depends on what was there before
			return strings.Compare(podKey(a.GetPod()), podKey(b.GetPod()))
		}
		return 0
	}
}

// trial is a copy of a node, and of what the plugins know of the pod, on which evictions are tried.
type trial struct {
	handle fwk.Handle
	state  fwk.CycleState
	pod    *v1.Pod
	node   fwk.NodeInfo
}

// remove takes a pod from the node.
func (t *trial) remove(ctx context.Context, victim fwk.PodInfo) *fwk.Status {
	if err := t.node.RemovePod(klog.FromContext(ctx), victim.GetPod()); err != nil {
		return fwk.AsStatus(err)
	}
	return t.handle.RunPreFilterExtensionRemovePod(ctx, t.state, t.pod, victim, t.node)
}

// restore puts a pod back.
func (t *trial) restore(ctx context.Context, victim fwk.PodInfo) *fwk.Status {
	t.node.AddPodInfo(victim)
	return t.handle.RunPreFilterExtensionAddPod(ctx, t.state, t.pod, victim, t.node)
}

// filter asks whether the pod fits now.
func (t *trial) filter(ctx context.Context) *fwk.Status {
	return t.handle.RunFilterPluginsWithNominatedPods(ctx, t.state, t.pod, t.node)
}

// reprieve puts back, in order, each of the pods that leaves enough room, and returns the others, which must go.
func (t *trial) reprieve(ctx context.Context, potential []fwk.PodInfo) ([]fwk.PodInfo, *fwk.Status) {
	var victims []fwk.PodInfo
	for _, victim := range potential {
		if status := t.restore(ctx, victim); !status.IsSuccess() {
			return nil, status
		}
		if t.filter(ctx).IsSuccess() {
			continue
		}
		if status := t.remove(ctx, victim); !status.IsSuccess() {
			return nil, status
		}
		victims = append(victims, victim)
	}
	return victims, nil
}
