// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// IsScalarResourceName reports whether the scheduler accounts for a resource by name: extended resources, huge pages,
// resources of the kubernetes.io domain and attachable volumes.
func IsScalarResourceName(name v1.ResourceName) bool {
	return IsExtendedResourceName(name) || IsHugePageResourceName(name) ||
		isKubernetesDomain(name) || IsAttachableVolumeResourceName(name)
}

// IsExtendedResourceName reports whether a resource belongs to a domain other than kubernetes.io and may be counted by
// a quota.
func IsExtendedResourceName(name v1.ResourceName) bool {
	if IsNativeResource(name) || strings.HasPrefix(string(name), v1.DefaultResourceRequestsPrefix) {
		return false
	}
	return len(validation.IsQualifiedName(v1.DefaultResourceRequestsPrefix+string(name))) == 0
}

// IsNativeResource reports whether a resource is one of Kubernetes' own: it has no domain, or the domain kubernetes.io.
func IsNativeResource(name v1.ResourceName) bool {
	return !strings.Contains(string(name), "/") || isKubernetesDomain(name)
}

// IsHugePageResourceName reports whether a resource is a size of huge pages.
func IsHugePageResourceName(name v1.ResourceName) bool {
	return strings.HasPrefix(string(name), v1.ResourceHugePagesPrefix)
}

// IsAttachableVolumeResourceName reports whether a resource is a number of attachable volumes.
func IsAttachableVolumeResourceName(name v1.ResourceName) bool {
	return strings.HasPrefix(string(name), v1.ResourceAttachableVolumesPrefix)
}

// IsDRAExtendedResourceName reports whether a resource may be served by devices through a DeviceClass (KEP-5004).
func IsDRAExtendedResourceName(name v1.ResourceName) bool {
	return IsExtendedResourceName(name) || strings.HasPrefix(string(name), resourceapi.ResourceDeviceClassPrefix)
}

func isKubernetesDomain(name v1.ResourceName) bool {
	return strings.Contains(string(name), v1.ResourceDefaultNamespacePrefix)
}
