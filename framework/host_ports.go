// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	v1 "k8s.io/api/core/v1"
)

// HostPorts returns the ports that a pod takes on its node: those with a host port, of restartable init containers
// (sidecars) and then of containers. Ordinary init containers are over before the pod runs and take none. It returns
// nil for most pods.
func HostPorts(pod *v1.Pod) []v1.ContainerPort { return hostPorts(&pod.Spec) }

func hostPorts(spec *v1.PodSpec) []v1.ContainerPort {
	var ports []v1.ContainerPort
	collect := func(container *v1.Container) {
		for _, port := range container.Ports {
			if port.HostPort > 0 {
				ports = append(ports, port)
			}
		}
	}
	for i := range spec.InitContainers {
		if policy := spec.InitContainers[i].RestartPolicy; policy != nil && *policy == v1.ContainerRestartPolicyAlways {
			collect(&spec.InitContainers[i])
		}
	}
	for i := range spec.Containers {
		collect(&spec.Containers[i])
	}
	return ports
}
