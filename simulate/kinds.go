// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"cmp"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// object is what the cluster stores: a typed Kubernetes object, or an unstructured one of a custom kind.
type object interface {
	metav1.Object
	apiruntime.Object
}

// kind is a kind of object.
type kind struct {
	schema.GroupVersionKind
	resource schema.GroupVersionResource
	// scheduling tells that the scheduler or plugins of its own read objects of the kind.
	scheduling bool
	// namespaced tells that objects belong to a namespace; it is only known for kinds of scheduling.
	namespaced bool
}

// custom tells that objects of the kind have no Go type.
func (k *kind) custom() bool { return !scheme.Scheme.Recognizes(k.GroupVersionKind) }

// newObject returns an empty object of the kind.
func (k *kind) newObject() object {
	if typed, err := scheme.Scheme.New(k.GroupVersionKind); err == nil {
		if typed, ok := typed.(object); ok {
			return typed
		}
	}
	empty := &unstructured.Unstructured{}
	empty.SetGroupVersionKind(k.GroupVersionKind)
	return empty
}

// describe names an object for a message, such as Pod default/web.
func (k *kind) describe(namespace, name string) string {
	if namespace == "" {
		return k.Kind + " " + name
	}
	return k.Kind + " " + namespace + "/" + name
}

// schedulingKinds lists the kinds that scheduling reads, by API group and version. The value tells whether objects of
// the kind belong to a namespace.
func schedulingKinds() map[schema.GroupVersion]map[string]bool {
	return map[schema.GroupVersion]map[string]bool{
		{Version: "v1"}: {
			"Namespace": false, "Node": false, "PersistentVolume": false,
			"PersistentVolumeClaim": true, "Pod": true, "ReplicationController": true, "Service": true,
		},
		{Group: "apps", Version: "v1"}:              {"ReplicaSet": true, "StatefulSet": true},
		{Group: "policy", Version: "v1"}:            {"PodDisruptionBudget": true},
		{Group: "scheduling.k8s.io", Version: "v1"}: {"PriorityClass": false},
		{Group: "storage.k8s.io", Version: "v1"}: {
			"CSIDriver": false, "CSINode": false, "CSIStorageCapacity": true, "StorageClass": false,
			"VolumeAttachment": false,
		},
		{Group: "resource.k8s.io", Version: "v1"}: {
			"DeviceClass": false, "DeviceTaintRule": false, "ResourceClaim": true, "ResourceClaimTemplate": true, "ResourceSlice": false,
		},
	}
}

// kindTable finds kinds by what manifests and by what clients call them.
type kindTable struct {
	byKind     map[schema.GroupVersionKind]*kind
	byResource map[schema.GroupVersionResource]*kind
}

// newKindTable returns a table of every kind that client-go has a type for.
func newKindTable() *kindTable {
	t := &kindTable{
		byKind:     make(map[schema.GroupVersionKind]*kind),
		byResource: make(map[schema.GroupVersionResource]*kind),
	}
	scheduling := schedulingKinds()
	for gvk := range scheme.Scheme.AllKnownTypes() {
		typed, err := scheme.Scheme.New(gvk)
		if _, isObject := typed.(object); err != nil || !isObject || gvk.Version == apiruntime.APIVersionInternal {
			continue
		}
		plural, _ := meta.UnsafeGuessKindToResource(gvk)
		namespaced, known := scheduling[gvk.GroupVersion()][gvk.Kind]
		t.add(&kind{GroupVersionKind: gvk, resource: plural, scheduling: known, namespaced: namespaced})
	}
	return t
}

func (t *kindTable) add(k *kind) {
	t.byKind[k.GroupVersionKind] = k
	t.byResource[k.resource] = k
}

// sorted returns the kinds in a fixed order.
func (t *kindTable) sorted() []*kind {
	return slices.SortedFunc(maps.Values(t.byKind), func(a, b *kind) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Version, b.Version), cmp.Compare(a.Kind, b.Kind))
	})
}

// scheduled returns a kind that scheduling reads; nil for all others.
func (t *kindTable) scheduled(gvk schema.GroupVersionKind) *kind {
	if k := t.byKind[gvk]; k != nil && k.scheduling {
		return k
	}
	return nil
}

// find returns a kind. One that has no Go type is taken to be a custom one, whose resource is called by its plural.
func (t *kindTable) find(gvk schema.GroupVersionKind) *kind {
	if k := t.byKind[gvk]; k != nil {
		return k
	}
	plural, _ := meta.UnsafeGuessKindToResource(gvk)
	return &kind{GroupVersionKind: gvk, resource: plural}
}

// creationRank orders the objects that a simulation begins with: nodes before pods, and before both everything that
// they may refer to.
func creationRank(gvk schema.GroupVersionKind) int {
	switch gvk {
	case v1.SchemeGroupVersion.WithKind("Namespace"):
		return 0
	case v1.SchemeGroupVersion.WithKind("Node"):
		return 2
	case v1.SchemeGroupVersion.WithKind("Pod"):
		return 3
	}
	return 1
}
