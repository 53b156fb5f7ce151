// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"reflect"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientcache "k8s.io/client-go/tools/cache"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/ptr"
)

// This file makes two versions of an object, as events have them.

// hintCase is what a hint is given.
type hintCase struct {
	pod            *v1.Pod
	oldObj, newObj any
}

// change returns two versions of an object to which the event could have happened.
func (g *generator) change(event fwk.ClusterEvent) (oldObj, newObj any) {
	var before, after any
	switch event.Resource {
	case fwk.Node:
		before, after = g.changedNode()
	case fwk.AssignedPod, fwk.TargetPod, fwk.UnscheduledPod, fwk.Pod:
		oldPod, newPod := g.changedPod()
		if event.Resource == fwk.AssignedPod && !g.oneIn(6) {
			oldPod.Spec.NodeName, newPod.Spec.NodeName = "node-0", "node-0"
		}
		before, after = oldPod, newPod
	default:
		before, after = g.changedObject(event.Resource)
	}
	if g.oneIn(20) {
		before, after = "not an object", "not an object"
	}
	deleted := event.ActionType&fwk.Delete != 0
	switch {
	case deleted && (event.ActionType == fwk.Delete || g.oneIn(3)):
		if g.oneIn(4) {
			return clientcache.DeletedFinalStateUnknown{Key: "x", Obj: before}, nil
		}
		return before, nil
	case event.ActionType&fwk.Add != 0 && g.oneIn(2):
		return nil, after
	case g.oneIn(40):
		return nil, nil
	}
	return before, after
}

func (g *generator) changedNode() (before, after *v1.Node) {
	before = g.node(g.IntN(3))
	if g.oneIn(2) {
		after = g.node(0)
		after.Name = before.Name
		return before, after
	}
	after = before.DeepCopy()
	other := g.node(0)
	switch g.IntN(8) {
	case 0:
		after.Labels = other.Labels
	case 1:
		after.Spec.Taints = other.Spec.Taints
	case 2:
		after.Spec.Unschedulable = !before.Spec.Unschedulable
	case 3:
		after.Status.Allocatable = other.Status.Allocatable
	case 4:
		after.Annotations = map[string]string{"changed": "yes"}
	case 5:
		after.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: pick(g, v1.ConditionTrue, v1.ConditionFalse)}}
		before.Status.Conditions = pick(g, nil, []v1.NodeCondition{{
			Type: v1.NodeReady, Status: v1.ConditionTrue, LastHeartbeatTime: metav1.Unix(5, 0), Reason: pick(g, "", "Ready"),
		}})
	case 6:
		after.Status.DeclaredFeatures = []string{"SomeFeature"}
	case 7:
		after.Spec.Taints = append(after.Spec.Taints, g.taint())
	}
	return before, after
}

func (g *generator) changedPod() (before, after *v1.Pod) {
	before = g.pod("other")
	after = before.DeepCopy()
	other := g.pod("third")
	for range 1 + g.IntN(2) {
		switch g.IntN(13) {
		case 0:
			after.Labels = other.Labels
		case 1:
			after.Spec.Containers = other.Spec.Containers
		case 2:
			after.Spec.Tolerations = other.Spec.Tolerations
		case 3:
			after.Spec.SchedulingGates = other.Spec.SchedulingGates
		case 4:
			after.Status.ResourceClaimStatuses = []v1.PodResourceClaimStatus{{Name: pick(g, "a", "b")}}
		case 5:
			after.Status.NominatedNodeName = pick(g, "", "node-0")
		case 6:
			after.Spec.Containers[0].Resources.Requests = g.resources(false)
		case 7:
			after.DeletionTimestamp = ptr.To(metav1.Unix(1, 0))
		case 8:
			after.Status.Phase = pick(g, v1.PodRunning, v1.PodSucceeded, v1.PodFailed)
		case 9, 10: // a node begins, goes on with, or gives up a resize
			after.Status = g.resizeStatus(after)
		case 11:
			after.Spec.Resources = g.podLevel()
		case 12:
			g.addEphemeralContainers(after)
		}
	}
	return before, after
}

// waitingPod returns a pod that no node has reported on. Of the others, kube-scheduler's hint of NodeResourcesFit counts what
// a node allocated to them, which neither its Filter nor Rouse does.
func (g *generator) waitingPod(name string) *v1.Pod {
	pod := g.pod(name)
	pod.Status = v1.PodStatus{}
	return pod
}

// almost returns a pod that is like another one but for a detail.
func (g *generator) almost(pod *v1.Pod) *v1.Pod {
	twin := pod.DeepCopy()
	twin.Name, twin.UID = pod.Name+"-twin", pod.UID+"-twin"
	detail := g.IntN(40)
	cut(reflect.ValueOf(twin).Elem(), &detail)
	return twin
}
