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
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/rouse-scheduler/rouse/internal/apihttp"
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
	// scheduling reports whether the scheduler or in-tree plugins read objects of the kind.
	scheduling bool
	// namespaced reports whether objects belong to a namespace. Of custom kinds only the input can say so.
	namespaced bool
	// defined reports whether there is a definition of the custom kind, hasStatus whether that makes the status a part of its
	// own.
	defined, hasStatus bool
}

// custom reports whether objects of the kind have no Go type.
func (k *kind) custom() bool { return !scheme.Scheme.Recognizes(k.GroupVersionKind) }

// namespaceOf returns the namespace of an object that is written with one, or with none.
func (k *kind) namespaceOf(written string) string {
	if k.namespaced && written == "" {
		return metav1.NamespaceDefault
	}
	return written
}

// newObject returns an empty object of the kind.
func (k *kind) newObject() object {
	return apihttp.NewObject(k.GroupVersionKind)
}

// describe names an object for a message, such as Pod default/web.
func (k *kind) describe(namespace, name string) string {
	if namespace == "" {
		return k.Kind + " " + name
	}
	return k.Kind + " " + namespace + "/" + name
}

// schedulingKinds lists the kinds that scheduling reads.
func schedulingKinds() map[schema.GroupVersion][]string {
	return map[schema.GroupVersion][]string{
		{Version: "v1"}: {
			"Namespace", "Node", "PersistentVolume", "PersistentVolumeClaim", "Pod", "ReplicationController", "Service",
		},
		{Group: "apps", Version: "v1"}:              {"ReplicaSet", "StatefulSet"},
		{Group: "policy", Version: "v1"}:            {"PodDisruptionBudget"},
		{Group: "scheduling.k8s.io", Version: "v1"}: {"PriorityClass"},
		{Group: "storage.k8s.io", Version: "v1"}: {
			"CSIDriver", "CSINode", "CSIStorageCapacity", "StorageClass", "VolumeAttachment",
		},
		{Group: "resource.k8s.io", Version: "v1"}: {
			"DeviceClass", "DeviceTaintRule", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice",
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
	scheduling, cluster := schedulingKinds(), apihttp.ClusterKinds()
	for gvk := range scheme.Scheme.AllKnownTypes() {
		typed, err := scheme.Scheme.New(gvk)
		if _, isObject := typed.(object); err != nil || !isObject || gvk.Version == apiruntime.APIVersionInternal {
			continue
		}
		plural, _ := meta.UnsafeGuessKindToResource(gvk)
		t.add(&kind{
			GroupVersionKind: gvk,
			resource:         plural,
			scheduling:       slices.Contains(scheduling[gvk.GroupVersion()], gvk.Kind),
			namespaced:       !slices.Contains(cluster[gvk.Group], gvk.Kind),
		})
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
