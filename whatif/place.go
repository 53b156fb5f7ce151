// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package whatif

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// Placement is what became of a pod.
type Placement struct {
	// Pod is the pod: on its node if it has one, as the fork has it.
	Pod *v1.Pod
	// Node is the name of the node; empty if no node takes the pod.
	Node string
	// Reason says why no node takes the pod, nil if one does. It is as in [Fit], or the rejection of a Reserve or Permit plugin.
	Reason error
}

// Place puts pods on nodes, one after the other: each finds those before it where they were put. A pod for which there is no node
// is left out, and waits if it was in the fork before; the others are still placed. It does not preempt; see [Cluster.Preempt].
//
// A pod goes through Reserve, Permit and PreBind too; what plugins write there, such as which volume a claim gets, is part of the
// fork. A Permit plugin that asks to wait is not waited for: the pod counts as permitted.
//
// If there is an error, none was placed.
func (c *Cluster) Place(ctx context.Context, pods ...*v1.Pod) ([]Placement, error) {
	c.changing.Lock()
	defer c.changing.Unlock()
	return c.place(ctx, c.load(), pods)
}

// place places pods in the given objects, and makes what comes out the fork's.
func (c *Cluster) place(ctx context.Context, all objects, pods []*v1.Pod) ([]Placement, error) {
	placements := make([]Placement, 0, len(pods))
	err := c.engine.ask(ctx, all, func(r *replica) error {
		for _, pod := range pods {
			placement, err := r.place(ctx, pod)
			if err != nil {
				return fmt.Errorf("placing pod %s: %w", klog.KObj(pod), err)
			}
			placements = append(placements, placement)
		}
		all = r.now()
		return nil
	})
	if err != nil {
		return nil, err
	}
	c.current.Store(&all)
	return placements, nil
}

// place puts a pod on the best node, and has the replica show it there.
func (r *replica) place(ctx context.Context, pod *v1.Pod) (Placement, error) {
	before := r.now()
	q, err := r.question(ctx, pod)
	if err != nil {
		return Placement{}, err
	}
	k, err := r.kinds.keyOf(q.pod)
	if err != nil {
		return Placement{}, err
	}
	if err := before.conflict(k, q.pod); err != nil {
		return Placement{}, err
	}
	if known := before.pod(k); known != nil && known.Spec.NodeName != "" {
		return Placement{}, fmt.Errorf("it is on node %s already; remove it first", known.Spec.NodeName)
	}
	node, reason, err := q.choose()
	if err != nil || reason != nil {
		return Placement{Pod: pod, Reason: reason}, err
	}
	r.move(before.with(k, q.pod)) // plugins look it up
	placed := *q.pod
	placed.Spec.NodeName = node
	if reason, err = q.bind(&placed, node); reason == nil && err == nil {
		return Placement{Pod: &placed, Node: node}, r.show(r.now().with(k, &placed))
	}
	q.profile.RunReservePluginsUnreserve(ctx, q.state, &placed, node)
	return Placement{Pod: pod, Reason: reason}, errors.Join(err, r.show(before))
}

// bind runs what comes after the choice of a node. The reason is that of a plugin that rejects the pod there.
func (q *question) bind(placed *v1.Pod, node string) (reason, err error) {
	status := q.profile.RunReservePluginsReserve(q.ctx, q.state, placed, node)
	if status.IsSuccess() {
		if _, status = q.profile.RunPermitPlugins(q.ctx, q.state, placed, node); status.IsWait() {
			status = nil
		}
	}
	if status.IsSuccess() {
		if status = q.profile.RunPreBindPreFlights(q.ctx, q.state, placed, node); status.IsSuccess() {
			status = q.profile.RunPreBindPlugins(q.ctx, q.state, placed, node)
		} else if status.IsSkip() {
			status = nil
		}
	}
	q.runTasks()
	switch {
	case status.IsSuccess():
		q.profile.RunPostBindPlugins(q.ctx, q.state, placed, node)
		return nil, nil
	case status.IsRejected():
		fit := &framework.FitError{Pod: q.pod, NumAllNodes: 1, Diagnosis: framework.Diagnosis{
			NodeToStatus: framework.NewNodeToStatus(map[string]*fwk.Status{node: status}, nil),
		}}
		fit.Diagnosis.AddPluginStatus(status)
		return fit, nil
	}
	return nil, status.AsError()
}

// Drain cordons a node, takes its pods away, and places them anew, in the order in which the scheduling queue would: by priority,
// then by age, then by name. It returns what became of them; those that find no node are no longer in the fork. Pods of
// DaemonSets, static pods and pods that are being deleted stay. Claims of devices that only pods use which move are allocated again.
// Disruption budgets are not looked at.
//
// The node remains, cordoned, as kubectl drain leaves it. It is an error if there is no such node; then nothing has changed.
func (c *Cluster) Drain(ctx context.Context, node string) ([]Placement, error) {
	c.changing.Lock()
	defer c.changing.Unlock()
	all := c.load()
	drained, pods, err := c.evacuate(ctx, all, node)
	if err != nil {
		return nil, fmt.Errorf("draining node %s: %w", node, err)
	}
	placements, err := c.place(ctx, drained, pods)
	if err != nil {
		return nil, fmt.Errorf("draining node %s: %w", node, err)
	}
	return placements, nil
}

// evacuate returns the objects with a node cordoned and without its pods, and the pods as they would come again.
func (c *Cluster) evacuate(ctx context.Context, all objects, name string) (objects, []*v1.Pod, error) {
	k := key{kind: c.engine.kinds.nodes, name: name}
	found, _ := all.Get(k)
	node, ok := found.(*v1.Node)
	if !ok {
		return all, nil, errors.New("there is no such node")
	}
	var pods []*v1.Pod
	err := c.engine.ask(ctx, all, func(r *replica) error {
		info, err := r.snapshot.Get(name)
		if err != nil {
			return err
		}
		for _, pod := range info.GetPods() {
			if moves(pod.GetPod()) {
				pods = append(pods, pod.GetPod())
			}
		}
		return nil
	})
	if err != nil {
		return all, nil, err
	}
	slices.SortFunc(pods, inQueueOrder)
	cordoned := *node
	cordoned.Spec.Unschedulable = true
	all = c.engine.kinds.withoutReservations(all.with(k, &cordoned), pods)
	for i, pod := range pods {
		all = all.without(key{kind: c.engine.kinds.pods, namespace: pod.Namespace, name: pod.Name})
		pods[i] = again(pod)
	}
	return all, pods, nil
}

// moves reports whether a pod would come again elsewhere.
func moves(pod *v1.Pod) bool {
	_, static := pod.Annotations[v1.MirrorPodAnnotationKey]
	owner := metav1.GetControllerOfNoCopy(pod)
	return !static && pod.DeletionTimestamp == nil && (owner == nil || owner.Kind != "DaemonSet")
}

func inQueueOrder(a, b *v1.Pod) int {
	return cmp.Or(
		cmp.Compare(corev1helpers.PodPriority(b), corev1helpers.PodPriority(a)),
		a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
		strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name),
	)
}

// again returns a pod as its owner would create it again.
func again(pod *v1.Pod) *v1.Pod {
	waiting := *pod
	waiting.Spec.NodeName = ""
	waiting.Status = v1.PodStatus{Phase: v1.PodPending, ResourceClaimStatuses: pod.Status.ResourceClaimStatuses}
	return &waiting
}
