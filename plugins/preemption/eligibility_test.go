// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package preemption_test

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugins/preemption"
)

func never(pod *v1.Pod) {
	policy := v1.PreemptNever
	pod.Spec.PreemptionPolicy = &policy
}

func ifLower(pod *v1.Pod) {
	policy := v1.PreemptLowerPriority
	pod.Spec.PreemptionPolicy = &policy
}

func TestEligibility(t *testing.T) {
	preempted := condition(v1.ConditionTrue, v1.PodReasonPreemptionByScheduler)
	spareV := preemption.HooksOptions{
		IsEligiblePod: func(_ fwk.NodeInfo, victim fwk.PodInfo, _ *v1.Pod) bool { return victim.GetPod().Name != "v" },
	}
	ending := func(changes ...func(*v1.Pod)) *v1.Pod {
		return pod("v", 1, "1", append([]func(*v1.Pod){on("a"), terminating}, changes...)...)
	}
	const waits = "not eligible due to a terminating pod on the nominated node."
	tests := []struct {
		name   string
		pod    *v1.Pod
		victim *v1.Pod // on node a
		status *fwk.Status
		hooks  preemption.HooksOptions
		want   string // the reason; empty if the pod may preempt
	}{
		{name: "PreemptNever", pod: pod("p", 10, "1", never), want: "not eligible due to preemptionPolicy=Never."},
		{name: "PreemptNever even if the nominated node is lost", pod: pod("p", 10, "1", never, nominatedFor("a")),
			status: fwk.NewStatus(fwk.UnschedulableAndUnresolvable), want: "not eligible due to preemptionPolicy=Never."},
		{name: "PreemptLowerPriority", pod: pod("p", 10, "1", ifLower)},
		{name: "no nominated node", pod: pod("p", 10, "1"), victim: ending(preempted)},
		{name: "nominated node with a victim that is terminating", pod: pod("p", 10, "1", nominatedFor("a")), victim: ending(preempted), want: waits},
		{name: "the nominated node can't take the pod any more", pod: pod("p", 10, "1", nominatedFor("a")), victim: ending(preempted),
			status: fwk.NewStatus(fwk.UnschedulableAndUnresolvable)},
		{name: "nominated node without such a victim", pod: pod("p", 10, "1", nominatedFor("a"))},
		{name: "the nominated node is gone", pod: pod("p", 10, "1", nominatedFor("gone")), victim: ending(preempted)},
		{name: "a terminating pod that was not preempted", pod: pod("p", 10, "1", nominatedFor("a")), victim: ending()},
		{name: "terminating because of another disruption", pod: pod("p", 10, "1", nominatedFor("a")),
			victim: ending(condition(v1.ConditionTrue, "EvictionByEvictionAPI"))},
		{name: "the condition is not true", pod: pod("p", 10, "1", nominatedFor("a")),
			victim: ending(condition(v1.ConditionFalse, v1.PodReasonPreemptionByScheduler))},
		{name: "only the first condition of that type counts", pod: pod("p", 10, "1", nominatedFor("a")),
			victim: ending(condition(v1.ConditionTrue, "EvictionByEvictionAPI"), preempted)},
		{name: "preempted, but not terminating yet", pod: pod("p", 10, "1", nominatedFor("a")), victim: pod("v", 1, "1", on("a"), preempted)},
		{name: "a terminating pod of the same priority", pod: pod("p", 1, "1", nominatedFor("a")), victim: ending(preempted)},
		{name: "a terminating pod that custom hooks don't let go", pod: pod("p", 10, "1", nominatedFor("a")), victim: ending(preempted), hooks: spareV},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			all := list{tt.pod, node("a", "1")}
			if tt.victim != nil {
				all = append(all, tt.victim)
			}
			s := newSetup(t, setupOptions{ClusterOptions: fixture.ClusterOptions{Objects: all}, hooks: tt.hooks})
			eligible, reason := s.hooks.PodEligibleToPreemptOthers(t.Context(), tt.pod, tt.status)
			if eligible != (tt.want == "") || reason != tt.want {
				t.Errorf("got %t, %q; want %t, %q", eligible, reason, tt.want == "", tt.want)
			}
		})
	}
}

// A pod that is not eligible keeps the node that is nominated for it, and nothing is evicted.
func TestNotEligible(t *testing.T) {
	preemptor := pod("p", 10, "1", nominatedFor("a"))
	s := in(t, list{
		preemptor, node("a", "1"), node("b", "1"), pod("w", 1, "1", on("b")),
		pod("v", 1, "1", on("a"), terminating, condition(v1.ConditionTrue, v1.PodReasonPreemptionByScheduler)),
	})
	result, status := s.preempt(t, preemptor)
	fixture.CheckStatus(t, status, fwk.NewStatus(fwk.Unschedulable, "not eligible due to a terminating pod on the nominated node."))
	if nominated(result) != "kept" || len(s.deleted()) > 0 {
		t.Errorf("nomination %s, deleted %q; want it kept, and no pod deleted", nominated(result), s.deleted())
	}
}

// The status of the nominated node is that which Filter gave, and the pod is the one that the informer has.
func TestEligibilityOfTheLatestPod(t *testing.T) {
	old, current := pod("p", 10, "1"), pod("p", 10, "1", never)
	s := in(t, list{current, node("a", "1"), pod("v", 1, "1", on("a"))})
	state, statuses := s.Filter(t, old)
	_, status := s.evaluator.Preempt(t.Context(), state, old, statuses)
	fixture.CheckStatus(t, status, fwk.NewStatus(fwk.Unschedulable, "not eligible due to preemptionPolicy=Never."))

	s = in(t, list{node("a", "1")})
	_, status = s.evaluator.Preempt(t.Context(), framework.NewCycleState(), old, framework.NewDefaultNodeToStatus())
	if !status.IsError() {
		t.Errorf("got status %v for a pod that is gone, want Error", status.Code())
	}
}
