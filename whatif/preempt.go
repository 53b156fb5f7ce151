// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package whatif

import (
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/rouse-scheduler/rouse/profiles"
)

// Preemption is the answer of [Cluster.Preempt].
type Preemption struct {
	// Node is the name of the node that has room for the pod, or would have without the victims; empty if preemption does not help.
	Node string
	// Victims are the pods that would have to go, by priority and name; none if the pod fits as it is.
	Victims []*v1.Pod
	// Reason says why preemption does not help: why no node takes the pod, and what the PostFilter plugins say. It is nil if there
	// is a node.
	Reason error
}

// Preempt asks the PostFilter plugins of the pod's profile which pods would have to go for a pod to fit, as the scheduler does
// when no node takes it. All nodes are searched, and of equally good
// ones the first by name is chosen. The fork does not change: to go on, remove the victims and place the pod.
func (c *Cluster) Preempt(ctx context.Context, pod *v1.Pod) (*Preemption, error) {
	var preemption *Preemption
	err := c.askAbout(ctx, "asking what pod %s would preempt", pod, func(q *question) (err error) {
		preemption, err = q.preempt()
		return err
	})
	return preemption, err
}

func (q *question) preempt() (*Preemption, error) {
	before := q.now()
	k, err := q.kinds.keyOf(q.pod)
	if err != nil {
		return nil, err
	}
	if err := before.conflict(k, q.pod); err != nil {
		return nil, err
	}
	if known := before.pod(k); known != q.pod { // plugins look it up
		if err := q.show(before.with(k, q.pod)); err != nil {
			return nil, err
		}
	}
	node, reason, err := q.choose()
	if err != nil || reason == nil {
		return &Preemption{Node: node}, err
	}
	if q.gated || q.snapshot.NodeCount() == 0 || !q.profile.Has(profiles.PostFilter) {
		return &Preemption{Reason: reason}, nil
	}
	asked := q.now()
	result, status := q.profile.RunPostFilterPlugins(q.ctx, q.state, q.pod, q.diagnosis.NodeToStatus)
	q.runTasks()
	if result == nil || result.NominatingInfo == nil || result.NominatedNodeName == "" || !status.IsSuccess() {
		q.diagnosis.PostFilterMsg = status.Message()
		return &Preemption{Reason: q.fitError()}, nil
	}
	return &Preemption{Node: result.NominatedNodeName, Victims: q.goneSince(asked)}, nil
}

// goneSince returns the pods that were deleted since the replica showed the given objects.
func (q *question) goneSince(before objects) []*v1.Pod {
	var victims []*v1.Pod
	for _, c := range q.now().AppendDiff(nil, before.Map) {
		if pod, isPod := c.Before.(*v1.Pod); isPod && !c.IsNow {
			victims = append(victims, pod)
		}
	}
	slices.SortFunc(victims, inQueueOrder)
	return victims
}
