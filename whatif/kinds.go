// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package whatif

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/rouse-scheduler/rouse/internal/apihttp"
)

// object is what a cluster consists of: a typed Kubernetes object, or an unstructured one of a custom kind.
type object interface {
	metav1.Object
	apiruntime.Object
}

// kind is a kind of object. There is one value for each in a cluster, so that kinds can be compared.
type kind struct {
	schema.GroupVersionKind
	// rank says which kinds are brought up to date first, from the lowest on: others read them.
	rank  int
	typed reflect.Type // nil for custom kinds
	// The rest never changes for kinds that have a type; for custom ones it is guarded by kinds.mu.
	resource   schema.GroupVersionResource
	namespaced bool
	// defined reports whether there is a definition, so that there is nothing to guess.
	defined bool
}

const (
	rankOfDefinitions = iota
	rankOfOthers
	rankOfNodes
	rankOfPods
)

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
	claims     *kind // of devices

	mu     sync.Mutex
	custom map[schema.GroupVersionKind]*kind // guarded by mu
	// generation grows when more becomes known of custom kinds.
	generation atomic.Int64
}

func newKinds() *kinds {
	k := &kinds{
		byType:     map[reflect.Type]*kind{},
		byResource: map[schema.GroupVersionResource]*kind{},
		custom:     map[schema.GroupVersionKind]*kind{},
	}
	clusterKinds := apihttp.ClusterKinds()
	for gvk, typed := range scheme.Scheme.AllKnownTypes() {
		if _, isObject := reflect.New(typed).Interface().(object); !isObject || gvk.Version == apiruntime.APIVersionInternal {
			continue
		}
		resource, _ := meta.UnsafeGuessKindToResource(gvk)
		added := &kind{
			GroupVersionKind: gvk, resource: resource, typed: typed, rank: rankOfOthers,
			namespaced: !slices.Contains(clusterKinds[gvk.Group], gvk.Kind),
		}
		switch reflect.New(typed).Interface().(type) {
		case *v1.Pod:
			added.rank, k.pods = rankOfPods, added
		case *v1.Node:
			added.rank, k.nodes = rankOfNodes, added
		case *schedulingv1.PriorityClass:
			k.classes = added
		case *resourceapi.ResourceClaim:
			k.claims = added
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
		k.mu.Lock()
		defer k.mu.Unlock()
		return k.customKind(gvk), nil
	}
	if found := k.byType[reflect.TypeOf(o).Elem()]; found != nil {
		return found, nil
	}
	return nil, fmt.Errorf("%T is not a type of client-go; pass objects of custom kinds as *unstructured.Unstructured", o)
}

// keyOf returns the key of an object.
func (k *kinds) keyOf(o object) (key, error) {
	kind, err := k.of(o)
	if err != nil {
		return key{}, err
	}
	namespaced := kind.namespaced
	if kind.typed == nil {
		namespaced = k.placed(kind, o)
	}
	switch named := (key{kind: kind, namespace: o.GetNamespace(), name: o.GetName()}); {
	case !namespaced:
		named.namespace = ""
		return named, nil
	case named.namespace == "":
		named.namespace = metav1.NamespaceDefault
		return named, nil
	default:
		return named, nil
	}
}
