// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package apihttp

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// NewObject returns an empty object of a kind: a typed one without its kind if client-go has a type, otherwise an
// unstructured one with it.
func NewObject(gvk schema.GroupVersionKind) Object {
	if typed, err := scheme.Scheme.New(gvk); err == nil {
		if typed, ok := typed.(Object); ok {
			return typed
		}
	}
	empty := &unstructured.Unstructured{}
	empty.SetGroupVersionKind(gvk)
	return empty
}

// Plurals returns the resource names that a custom kind may have, as far as its name says.
func Plurals(kind string) []string {
	singular := strings.ToLower(kind)
	return []string{singular + "s", singular + "es", strings.TrimSuffix(singular, "y") + "ies", singular}
}

// ClusterKinds lists the kinds of Kubernetes, by API group, whose objects do not belong to a namespace.
func ClusterKinds() map[string][]string {
	return map[string][]string{
		"": {"ComponentStatus", "Namespace", "Node", "PersistentVolume"},
		"admissionregistration.k8s.io": {
			"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding", "MutatingWebhookConfiguration",
			"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration",
		},
		"authentication.k8s.io":        {"SelfSubjectReview", "TokenReview"},
		"authorization.k8s.io":         {"SelfSubjectAccessReview", "SelfSubjectRulesReview", "SubjectAccessReview"},
		"certificates.k8s.io":          {"CertificateSigningRequest", "ClusterTrustBundle"},
		"flowcontrol.apiserver.k8s.io": {"FlowSchema", "PriorityLevelConfiguration"},
		"internal.apiserver.k8s.io":    {"StorageVersion"},
		"networking.k8s.io":            {"IPAddress", "IngressClass", "ServiceCIDR"},
		"node.k8s.io":                  {"RuntimeClass"},
		"rbac.authorization.k8s.io":    {"ClusterRole", "ClusterRoleBinding"},
		"resource.k8s.io":              {"DeviceClass", "DeviceTaintRule", "ResourcePoolStatusRequest", "ResourceSlice"},
		"scheduling.k8s.io":            {"PriorityClass"},
		"storage.k8s.io":               {"CSIDriver", "CSINode", "StorageClass", "VolumeAttachment", "VolumeAttributesClass"},
		"storagemigration.k8s.io":      {"StorageVersionMigration"},
	}
}

// Definition is what the definition of a custom resource says.
type Definition struct {
	// Plural is the name of the resource; empty if the definition does not say it.
	Plural   string
	Versions []string
	// Namespaced reports whether objects belong to a namespace.
	Namespaced bool
	// HasStatus reports whether the status is a part of its own, which only requests for it change.
	HasStatus bool
}

// DefinitionKind is the kind of the definitions of custom resources.
const DefinitionKind = "CustomResourceDefinition"

// ReadDefinition reads a CustomResourceDefinition, as far as it can be read, and returns which kind it defines.
func ReadDefinition(definition *unstructured.Unstructured) (schema.GroupKind, Definition) {
	text := func(path ...string) string {
		found, _, _ := unstructured.NestedString(definition.Object, append([]string{"spec"}, path...)...)
		return found
	}
	kind := Definition{Plural: text("names", "plural"), Namespaced: text("scope") != "Cluster"}
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	for _, version := range versions {
		fields, ok := version.(map[string]any)
		if !ok {
			continue
		}
		if name, _, _ := unstructured.NestedString(fields, "name"); name != "" {
			kind.Versions = append(kind.Versions, name)
		}
		_, status, _ := unstructured.NestedFieldNoCopy(fields, "subresources", "status")
		kind.HasStatus = kind.HasStatus || status
	}
	return schema.GroupKind{Group: text("group"), Kind: text("names", "kind")}, kind
}
