// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package advice

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/inspect"
	"github.com/rouse-scheduler/rouse/plugins/schedulinggates"
	"github.com/rouse-scheduler/rouse/simulate"
	"github.com/rouse-scheduler/rouse/whatif"
)

// Explain explains a pod of any scheduler from the objects of its cluster: what the scheduler wrote about it, and what the plugins say
// of the cluster as it is now. What only the scheduler itself knows is missing, such as in which pool of its queue the pod is,
// and which events it has seen. Events are those that the profile of the pod registered, and nodes is how many of the closest nodes
// to return. The error is an [*inspect.NoSuchPodError] if there is no such pod. Suggestions are added by [For].
func Explain(ctx context.Context, cluster *whatif.Cluster, events inspect.EventSource, namespace, name string, nodes int, at time.Time) (*inspect.Explanation, error) {
	e := inspect.NewExplanation(namespace, name, at.UTC().Format(time.RFC3339))
	pod, found := cluster.Get(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}).(*v1.Pod)
	if !found {
		return nil, noSuchPod(cluster, namespace, name, e.At)
	}
	e.SchedulerName, e.Node = pod.Spec.SchedulerName, pod.Spec.NodeName
	e.Terminating = pod.DeletionTimestamp != nil
	switch phase := pod.Status.Phase; {
	case phase == v1.PodSucceeded || phase == v1.PodFailed:
		e.Pool, e.Phase, e.Message = simulate.PoolDeleted, string(phase), pod.Status.Message
		return e, nil
	case pod.Spec.NodeName != "":
		e.Pool = simulate.PoolBound
		if start := pod.Status.StartTime; start != nil {
			e.Since = start.UTC().Format(time.RFC3339)
		}
		return e, nil
	case e.Terminating:
		e.Pool, e.Message = simulate.PoolDeleted, "the pod is being deleted"
		return e, nil
	case len(pod.Spec.SchedulingGates) > 0:
		e.Pool = simulate.PoolGated
	default:
		e.Pool = simulate.PoolUnschedulable
	}
	e.NominatedNode = pod.Status.NominatedNodeName
	for _, condition := range pod.Status.Conditions {
		if condition.Type == v1.PodScheduled && condition.Status == v1.ConditionFalse {
			e.Message, e.RejectedAt = condition.Message, condition.LastTransitionTime.UTC().Format(time.RFC3339)
		}
	}
	return e, addVerdicts(ctx, cluster, e, events, pod, nodes)
}

func noSuchPod(cluster *whatif.Cluster, namespace, name, at string) error {
	missing := &inspect.NoSuchPodError{Namespace: namespace, Name: name, At: at}
	for _, object := range cluster.Objects() {
		if pod, isPod := object.(*v1.Pod); isPod {
			missing.Pods = append(missing.Pods, pod.Namespace+"/"+pod.Name)
		}
	}
	return missing
}

// addVerdicts adds what the plugins say.
func addVerdicts(ctx context.Context, cluster *whatif.Cluster, e *inspect.Explanation, events inspect.EventSource, pod *v1.Pod, nodes int) error {
	preemption, err := cluster.Preempt(ctx, pod)
	if err != nil {
		return err
	}
	blockers, err := cluster.Explain(ctx, pod)
	if err != nil {
		return err
	}
	e.AllNodes, e.Everywhere = len(blockers.Nodes), blockers.Everywhere
	e.Nodes = append(e.Nodes, blockers.Nodes[:min(max(nodes, 0), len(blockers.Nodes))]...)
	fit, err := cluster.Fits(ctx, pod)
	if err != nil {
		return err
	}
	var rejected *framework.FitError
	if !errors.As(fit.Reason, &rejected) {
		return nil
	}
	e.RejectedBy = inspect.NewRejections(&rejected.Diagnosis, rejected.NumAllNodes)
	for i := range e.RejectedBy {
		e.RejectedBy[i].PreEnqueue = e.RejectedBy[i].Plugin == schedulinggates.Name
	}
	var after *framework.FitError
	switch {
	case e.NominatedNode != "":
		for _, other := range newView(cluster, pod).on[e.NominatedNode] {
			e.AddVictim(pod, other)
		}
		e.PostFilter = "the pod is nominated for node " + e.NominatedNode
	case preemption.Node != "":
		e.PostFilter = fmt.Sprintf("it would end %d pods on node %s", len(preemption.Victims), preemption.Node)
	case errors.As(preemption.Reason, &after):
		e.PostFilter = after.Diagnosis.PostFilterMsg
	}
	registered := inspect.NewEvents(events).Profiles[0]
	for _, rejection := range slices.SortedFunc(slices.Values(e.RejectedBy), func(a, b inspect.Rejection) int { return cmp.Compare(a.Plugin, b.Plugin) }) {
		e.RequeueEvents = append(e.RequeueEvents, inspect.PluginEvents{Plugin: rejection.Plugin, Events: registered.PluginEvents(rejection.Plugin)})
	}
	return nil
}
