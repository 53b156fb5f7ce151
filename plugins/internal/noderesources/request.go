// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package noderesources

import (
	v1 "k8s.io/api/core/v1"
	podresource "k8s.io/component-helpers/resource"

	"github.com/rouse-scheduler/rouse/framework"
)

// Request returns what a pod needs of a node by its spec, status ignored: the vector that a node must have free, and
// the one that goes into the signature of a pod.
func Request(pod *v1.Pod) *framework.Resource {
	request := &framework.Resource{}
	if only, ok := framework.OnlyRequests(pod); ok {
		request.SetMaxResource(only)
		return request
	}
	request.SetMaxResource(podresource.PodRequests(pod, podresource.PodResourcesOptions{}))
	return request
}

// RunningRequest returns what a pod takes of its node at this moment, resizes that are under way included. The list must
// not be changed.
func RunningRequest(pod *v1.Pod) v1.ResourceList {
	if only, ok := framework.OnlyRequests(pod); ok {
		return only
	}
	return podresource.PodRequests(pod, podresource.PodResourcesOptions{
		UseStatusResources: true,
		InPlacePodLevelResourcesVerticalScalingEnabled: true,
	})
}
