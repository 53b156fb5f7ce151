// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package nodefit is the question that a descheduler asks before it evicts a pod: would the scheduler have another node for it?
package nodefit

import (
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rouse-scheduler/rouse/whatif"
)

// Evictable returns which of the pods would find a place on another node than their own, after those before them have been evicted and
// have found one. Pods that would be left without a node are not among them. The cluster does not change.
func Evictable(ctx context.Context, cluster *whatif.Cluster, pods []*v1.Pod) ([]*v1.Pod, error) {
	now := cluster.Fork()
	var evictable []*v1.Pod
	for _, pod := range pods {
		fork := now.Fork()
		if err := fork.Remove(pod); err != nil {
			return nil, err
		}
		elsewhere, err := fits(ctx, fork, pod)
		if err != nil {
			return nil, err
		}
		if !elsewhere {
			continue
		}
		if err := fork.Commit(); err != nil {
			return nil, err
		}
		evictable = append(evictable, pod)
	}
	return evictable, nil
}

// fits places a pod on a node other than its own, and reports whether there is one.
func fits(ctx context.Context, fork *whatif.Cluster, pod *v1.Pod) (bool, error) {
	again := pod.DeepCopy()
	again.Spec.NodeName, again.Status = "", v1.PodStatus{}
	fit, err := fork.Fits(ctx, again)
	if err != nil || !slices.ContainsFunc(fit.Nodes, func(node string) bool { return node != pod.Spec.NodeName }) {
		return false, err
	}
	// The node is cordoned only while the pod is placed.
	found := fork.Get(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: pod.Spec.NodeName}})
	if found == nil {
		return true, nil
	}
	cordoned := found.(*v1.Node).DeepCopy()
	cordoned.Spec.Unschedulable = true
	if err := fork.Update(cordoned); err != nil {
		return false, err
	}
	placements, err := fork.Place(ctx, again)
	if err != nil {
		return false, err
	}
	return placements[0].Node != "", fork.Update(found)
}
