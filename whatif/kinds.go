// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package whatif

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// object is what a cluster consists of: a typed Kubernetes object, or an unstructured one of a custom kind.
type object interface {
	metav1.Object
	apiruntime.Object
}

// kind is a kind of object. There is one value for each in a cluster, so that kinds can be compared.
type kind struct {
	schema.GroupVersionKind
	resource schema.GroupVersionResource
	// rank says which kinds are brought up to date first, from the lowest on: others read them.
	rank int
	// clusterScoped reports whether objects of the kind are known to belong to no namespace.
	clusterScoped bool
	typed         reflect.Type // nil for custom kinds
}

const (
	rankOfOthers = iota
	rankOfNodes
	rankOfPods
)

// newObject returns an empty object of the kind.
func (k *kind) newObject() object {
	if k.typed != nil {
		return reflect.New(k.typed).Interface().(object)
	}
	empty := &unstructured.Unstructured{}
	empty.SetGroupVersionKind(k.GroupVersionKind)
	return empty
}

// key names an object.
type key struct {
	kind            *kind
	namespace, name string
}

// String names the object for a message, such as Pod default/web.
func (k key) String() string { return k.kind.Kind + " " + k.storeKey() }

// storeKey is the key that informers have for the object.
func (k key) storeKey() string {
	if k.namespace == "" {
		return k.name
	}
	return k.namespace + "/" + k.name
}

func compareKeys(a, b key) int {
	return cmp.Or(cmp.Compare(a.kind.rank, b.kind.rank), strings.Compare(a.kind.Group, b.kind.Group), strings.Compare(a.kind.Kind, b.kind.Kind),
		strings.Compare(a.kind.Version, b.kind.Version), strings.Compare(a.namespace, b.namespace), strings.Compare(a.name, b.name))
}

// kinds has the kinds that client-go has types for, and the custom ones that were seen. It is safe for concurrent use.
type kinds struct {
	byType     map[reflect.Type]*kind
	byResource map[schema.GroupVersionResource]*kind
	pods       *kind
	nodes      *kind
	classes    *kind // of priorities

	mu     sync.Mutex
	custom map[schema.GroupVersionKind]*kind // guarded by mu
}

func newKinds() *kinds {
	k := &kinds{
		byType:     map[reflect.Type]*kind{},
		byResource: map[schema.GroupVersionResource]*kind{},
		custom:     map[schema.GroupVersionKind]*kind{},
	}
	for gvk, typed := range scheme.Scheme.AllKnownTypes() {
		if _, isObject := reflect.New(typed).Interface().(object); !isObject || gvk.Version == apiruntime.APIVersionInternal {
			continue
		}
		resource, _ := meta.UnsafeGuessKindToResource(gvk)
		added := &kind{GroupVersionKind: gvk, resource: resource, typed: typed}
		switch reflect.New(typed).Interface().(type) {
		case *v1.Pod:
			added.rank, k.pods = rankOfPods, added
		case *v1.Node:
			added.rank, added.clusterScoped, k.nodes = rankOfNodes, true, added
		case *schedulingv1.PriorityClass:
			added.clusterScoped = true
			if gvk.Version == schedulingv1.SchemeGroupVersion.Version {
				k.classes = added
			}
		case *v1.Namespace, *v1.PersistentVolume, *storagev1.StorageClass, *storagev1.CSIDriver, *storagev1.CSINode,
			*storagev1.VolumeAttachment, *resourceapi.DeviceClass, *resourceapi.DeviceTaintRule,
			*resourceapi.ResourceSlice:
			added.clusterScoped = true
		}
		k.byType[typed] = added
		k.byResource[resource] = added
	}
	return k
}

// of returns the kind of an object.
func (k *kinds) of(o object) (*kind, error) {
	switch o := o.(type) {
	case *v1.Pod:
		return k.pods, nil
	case *v1.Node:
		return k.nodes, nil
	case *unstructured.Unstructured:
		gvk := o.GroupVersionKind()
		if gvk.Kind == "" || gvk.Version == "" {
			return nil, fmt.Errorf("the object %q has no apiVersion or no kind", o.GetName())
		}
		return k.customKind(gvk), nil
	}
	if found := k.byType[reflect.TypeOf(o).Elem()]; found != nil {
		return found, nil
	}
	return nil, fmt.Errorf("%T is not a type of client-go; pass objects of custom kinds as *unstructured.Unstructured", o)
}

func (k *kinds) customKind(gvk schema.GroupVersionKind) *kind {
	k.mu.Lock()
	defer k.mu.Unlock()
	found := k.custom[gvk]
	if found == nil {
		resource, _ := meta.UnsafeGuessKindToResource(gvk)
		found = &kind{GroupVersionKind: gvk, resource: resource}
		k.custom[gvk] = found
	}
	return found
}

// keyOf returns the key of an object.
func (k *kinds) keyOf(o object) (key, error) {
	kind, err := k.of(o)
	if err != nil {
		return key{}, err
	}
	namespace := o.GetNamespace()
	switch {
	case kind.clusterScoped:
		namespace = ""
	case namespace == "" && kind.typed != nil && namespaced(kind):
		namespace = metav1.NamespaceDefault
	}
	return key{kind: kind, namespace: namespace, name: o.GetName()}, nil
}

// namespaced reports whether objects of the kind belong to a namespace, of the kinds that scheduling reads.
func namespaced(k *kind) bool {
	switch k.Kind {
	case "Pod", "PersistentVolumeClaim", "ResourceClaim", "ResourceClaimTemplate", "PodDisruptionBudget", "Service",
		"ReplicaSet", "ReplicationController", "StatefulSet", "CSIStorageCapacity":
		return true
	}
	return false
}
