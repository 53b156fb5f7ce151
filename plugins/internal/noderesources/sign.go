// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package noderesources

import (
	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// reasonServedByDevices is why a pod gets no signature: devices are not counted by node, so equal requests don't mean
// equal answers.
const reasonServedByDevices = "signature disabled when dra extended resources are used in the cluster"

// Sign returns the signature of what a pod requests. It refuses a pod that asks for a resource served by devices.
func Sign(pod *v1.Pod, classes DeviceClasses) ([]fwk.SignFragment, *fwk.Status) {
	request := Request(pod)
	for name, quantity := range request.ScalarResources {
		if quantity != 0 && classes.Serve(name) {
			return nil, fwk.NewStatus(fwk.Unschedulable, reasonServedByDevices)
		}
	}
	return []fwk.SignFragment{{Key: fwk.ResourcesSignerName, Value: request}}, nil
}
