// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// bind assigns a pod to a node, as the subresource binding does. The pod counts as started at once; nothing else that
// a kubelet would do is simulated.
func (s *store) bind(namespace string, binding *v1.Binding) error {
	c := s.pods()
	found, err := c.get(namespace, binding.Name)
	if err != nil {
		return err
	}
	pod := found.(*v1.Pod)
	switch {
	case binding.UID != "" && binding.UID != pod.UID:
		return s.conflict(c, pod.Name, "the UID is %s, not %s", pod.UID, binding.UID)
	case pod.DeletionTimestamp != nil:
		return s.conflict(c, pod.Name, "the pod is being deleted and cannot be assigned to a node")
	case pod.Spec.NodeName != "":
		return s.conflict(c, pod.Name, "the pod is assigned to node %s already", pod.Spec.NodeName)
	case len(pod.Spec.SchedulingGates) > 0:
		return s.conflict(c, pod.Name, "the pod has scheduling gates")
	case binding.Target.Name == "":
		return apierrors.NewBadRequest("the binding names no node")
	}
	bound := ownCopy(pod).(*v1.Pod)
	bound.Spec.NodeName = binding.Target.Name
	bound.Status.NominatedNodeName = ""
	if len(binding.Annotations) > 0 {
		annotations := make(map[string]string, len(pod.Annotations)+len(binding.Annotations))
		maps.Copy(annotations, pod.Annotations)
		maps.Copy(annotations, binding.Annotations)
		bound.Annotations = annotations
	}
	now := metav1.NewTime(s.clock.Now()).Rfc3339Copy()
	bound.Status.StartTime = &now
	setScheduled(bound, now)
	s.put(c, keyOf(namespace, pod.Name), pod, bound)
	return nil
}

// setScheduled sets the condition that tells a pod has a node, in a list of its own.
func setScheduled(pod *v1.Pod, now metav1.Time) {
	scheduled := v1.PodCondition{Type: v1.PodScheduled, Status: v1.ConditionTrue, LastTransitionTime: now}
	pod.Status.Conditions = slices.Clone(pod.Status.Conditions)
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == v1.PodScheduled {
			pod.Status.Conditions[i] = scheduled
			return
		}
	}
	pod.Status.Conditions = append(pod.Status.Conditions, scheduled)
}
