// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package apihttp

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Object is a typed Kubernetes object without its kind, or an unstructured one with it.
type Object interface {
	metav1.Object
	apiruntime.Object
}

// Resource is one kind of object that is served.
type Resource struct {
	schema.GroupVersionResource
	Kind       string
	Namespaced bool
	// Typed reports whether client-go has a type for the kind. Objects of the others are unstructured.
	Typed bool
}

// GroupVersionKind returns the kind of the objects.
func (r *Resource) GroupVersionKind() schema.GroupVersionKind {
	return r.GroupVersion().WithKind(r.Kind)
}

// Target is what a request is about: an object, or if it has no name all objects of a resource, in one namespace unless
// that is empty.
type Target struct {
	Resource    *Resource
	Namespace   string
	Name        string
	Subresource string
}

// Backend has the objects. Its methods are called concurrently. What they return is not changed by anybody. Errors are
// those of the package apierrors; others are answered as internal errors.
type Backend interface {
	// Resources returns everything that is served.
	Resources() []*Resource
	// Resource returns one of them, or one that may still come and has no kind yet; nil if it is not served. The namespace is
	// the one that a request names; it may be empty.
	Resource(gvr schema.GroupVersionResource, namespace string) *Resource
	// Get returns an object.
	Get(Target) (Object, error)
	// List returns the objects and the version at which they are like this.
	List(Target) ([]Object, int64)
	// Create stores an object, which it may keep and change, and returns it as stored; nil for subresources without a
	// result.
	Create(Target, apiruntime.Object) (Object, error)
	// Update replaces an object, or the part of it that the subresource stands for. It may keep and change what it is
	// given.
	Update(Target, Object) (Object, error)
	// Patch changes an object or creates it, if the patch is applied by the server.
	Patch(Target, types.PatchType, []byte) (Object, error)
	// Delete removes an object; preconditions may be nil.
	Delete(Target, *metav1.Preconditions) error
}
