// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// This file does what the controller of resource claims does in a cluster: it makes claims from templates, and takes claims
// back from pods that are gone or done. It does so inside of the request that gives a reason to. Drivers are not simulated:
// whoever needs what they say of a device writes it.

func (s *store) resourceClaims() *collection {
	return s.of(resourceapi.SchemeGroupVersion.WithKind("ResourceClaim"))
}

func (s *store) claimTemplates() *collection {
	return s.of(resourceapi.SchemeGroupVersion.WithKind("ResourceClaimTemplate"))
}

// keepResourceClaims does what a change gives a reason to.
func (s *store) keepResourceClaims(c *collection, made change) {
	switch c {
	case s.pods():
		previous, _ := made.previous.(*v1.Pod)
		if pod, ok := made.current.(*v1.Pod); ok && unfinishedPod(pod) {
			s.makeResourceClaims(pod)
		} else if previous != nil && (made.current == nil || unfinishedPod(previous)) {
			s.endResourceClaims(previous)
		}
	case s.claimTemplates():
		if made.current != nil {
			for _, found := range s.pods().sorted(made.current.GetNamespace()) {
				s.makeResourceClaims(found.(*v1.Pod))
			}
		}
	case s.resourceClaims():
		// Claims of a scenario come before the pods that they are reserved for, so that new ones are left alone.
		if claim, ok := made.current.(*resourceapi.ResourceClaim); ok && made.previous != nil {
			s.freeResourceClaim(claim)
		}
	}
}

// makeResourceClaims makes the claims that a pod wants from templates, and names them in its status.
func (s *store) makeResourceClaims(pod *v1.Pod) {
	if pod.DeletionTimestamp != nil || !unfinishedPod(pod) {
		return
	}
	var statuses []v1.PodResourceClaimStatus
	for i := range pod.Spec.ResourceClaims {
		wanted := &pod.Spec.ResourceClaims[i]
		named := slices.ContainsFunc(pod.Status.ResourceClaimStatuses, func(status v1.PodResourceClaimStatus) bool {
			return status.Name == wanted.Name
		})
		if wanted.ResourceClaimTemplateName == nil || named {
			continue
		}
		template, ok := s.claimTemplates().objects[keyOf(pod.Namespace, *wanted.ResourceClaimTemplateName)].(*resourceapi.ResourceClaimTemplate)
		if !ok {
			continue
		}
		created, err := s.create(s.resourceClaims(), resourceClaimFrom(template, pod, wanted.Name))
		if err != nil {
			continue // a claim of that name is there already, and has another owner
		}
		name := created.GetName()
		statuses = append(statuses, v1.PodResourceClaimStatus{Name: wanted.Name, ResourceClaimName: &name})
	}
	if len(statuses) == 0 {
		return
	}
	updated := pod.DeepCopy()
	updated.Status.ResourceClaimStatuses = append(updated.Status.ResourceClaimStatuses, statuses...)
	s.put(s.pods(), keyOf(pod.Namespace, pod.Name), pod, updated)
}

func resourceClaimFrom(template *resourceapi.ResourceClaimTemplate, pod *v1.Pod, name string) *resourceapi.ResourceClaim {
	claim := &resourceapi.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:    pod.Namespace,
			GenerateName: pod.Name + "-" + name + "-",
			Labels:       maps.Clone(template.Spec.Labels),
			Annotations:  maps.Clone(template.Spec.Annotations),
			OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(pod, v1.SchemeGroupVersion.WithKind("Pod")),
			},
		},
		Spec: *template.Spec.Spec.DeepCopy(),
	}
	metav1.SetMetaDataAnnotation(&claim.ObjectMeta, "resource.kubernetes.io/pod-claim-name", name)
	defaultDeviceRequests(&claim.Spec)
	return claim
}

// endResourceClaims takes claims back from a pod that is gone or done, and deletes those that were its own.
func (s *store) endResourceClaims(pod *v1.Pod) {
	if len(s.resourceClaims().objects) == 0 {
		return
	}
	for _, found := range s.resourceClaims().sorted(pod.Namespace) {
		claim := found.(*resourceapi.ResourceClaim)
		own := metav1.IsControlledBy(claim, pod)
		if reserved := reservedFor(claim, pod); reserved {
			claim = s.freeResourceClaim(claim)
		}
		if own && claim != nil {
			_ = s.delete(s.resourceClaims(), claim.Namespace, claim.Name) // it is there
		}
	}
}

func reservedFor(claim *resourceapi.ResourceClaim, pod *v1.Pod) bool {
	return slices.ContainsFunc(claim.Status.ReservedFor, func(user resourceapi.ResourceClaimConsumerReference) bool {
		return user.UID == pod.UID
	})
}

// freeResourceClaim takes a claim back from pods that are gone or done. When no pod is left, it gives its devices back. It
// returns the claim as it is then; nil if it is gone, because it was being deleted.
func (s *store) freeResourceClaim(claim *resourceapi.ResourceClaim) *resourceapi.ResourceClaim {
	users := slices.DeleteFunc(slices.Clone(claim.Status.ReservedFor), func(user resourceapi.ResourceClaimConsumerReference) bool {
		pod, ok := s.pods().objects[keyOf(claim.Namespace, user.Name)].(*v1.Pod)
		return user.Resource == "pods" && (!ok || pod.UID != user.UID || !unfinishedPod(pod))
	})
	released := len(users) < len(claim.Status.ReservedFor)
	deleted := claim.DeletionTimestamp != nil && len(users) == 0
	if !released && !deleted {
		return claim
	}
	freed := claim.DeepCopy()
	freed.Status.ReservedFor = users
	if len(users) == 0 {
		freed.Status.Allocation, freed.Status.Devices = nil, nil
		freed.Finalizers = slices.DeleteFunc(freed.Finalizers, func(f string) bool { return f == resourceapi.Finalizer })
	}
	if deleted && len(freed.Finalizers) == 0 {
		s.put(s.resourceClaims(), keyOf(claim.Namespace, claim.Name), claim, nil)
		return nil
	}
	if released {
		s.put(s.resourceClaims(), keyOf(claim.Namespace, claim.Name), claim, freed)
		return freed
	}
	return claim
}

// defaultDeviceRequests fills in what an API server does: one device, and the operator of tolerations.
func defaultDeviceRequests(spec *resourceapi.ResourceClaimSpec) {
	for i := range spec.Devices.Requests {
		request := &spec.Devices.Requests[i]
		if exactly := request.Exactly; exactly != nil {
			defaultCount(&exactly.AllocationMode, &exactly.Count)
			defaultDeviceTolerations(exactly.Tolerations)
		}
		for j := range request.FirstAvailable {
			alternative := &request.FirstAvailable[j]
			defaultCount(&alternative.AllocationMode, &alternative.Count)
			defaultDeviceTolerations(alternative.Tolerations)
		}
	}
}

func defaultCount(mode *resourceapi.DeviceAllocationMode, count *int64) {
	if *mode == "" {
		*mode = resourceapi.DeviceAllocationModeExactCount
	}
	if *mode == resourceapi.DeviceAllocationModeExactCount && *count == 0 {
		*count = 1
	}
}

func defaultDeviceTolerations(tolerations []resourceapi.DeviceToleration) {
	for i := range tolerations {
		if tolerations[i].Operator == "" {
			tolerations[i].Operator = resourceapi.DeviceTolerationOpEqual
		}
	}
}
