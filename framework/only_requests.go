// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	v1 "k8s.io/api/core/v1"
	podresource "k8s.io/component-helpers/resource"
)

// OnlyRequests returns the requests of a pod for which they are simply those of its only container, and true: one without
// init containers, overhead, requests of the pod as a whole, and anything that a node reported. It saves the general
// computation, which comes to the same. The list must not be changed.
func OnlyRequests(pod *v1.Pod) (v1.ResourceList, bool) {
	spec := &pod.Spec
	if len(spec.Containers) != 1 || len(spec.InitContainers) > 0 || len(spec.Overhead) > 0 || spec.Resources != nil ||
		len(pod.Status.ContainerStatuses) > 0 || len(pod.Status.InitContainerStatuses) > 0 ||
		pod.Status.Resources != nil || pod.Status.AllocatedResources != nil || podresource.IsPodResizeInfeasible(pod) {
		return nil, false
	}
	return spec.Containers[0].Resources.Requests, true
}
