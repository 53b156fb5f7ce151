// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/dynamic/dynamiclister"
	"k8s.io/client-go/informers"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/rouse-scheduler/rouse/internal/informer"
)

var _ dynamicinformer.DynamicSharedInformerFactory = &dynamicFactory{}

// dynamicFactory hands out informers whose objects have no Go type.
type dynamicFactory struct {
	store *store
}

// ForResource implements dynamicinformer.DynamicSharedInformerFactory.
func (f *dynamicFactory) ForResource(resource schema.GroupVersionResource) informers.GenericInformer {
	f.store.mu.Lock()
	defer f.store.mu.Unlock()
	c := f.store.find(resource)
	if c == nil {
		c = f.store.addUnknown(resource)
	}
	return dynamicInformer{resource: resource, informer: c.dynamic()}
}

// dynamic returns the informer that shows objects without their type.
func (c *collection) dynamic() *informer.Informer {
	if c.custom() {
		return c.informer
	}
	if c.untyped == nil {
		c.untyped = informer.New(nil)
		for _, key := range c.informer.Known().ListKeys() {
			known, _, _ := c.informer.Known().GetByKey(key)
			c.untyped.Deliver(key, withoutType(c.kind, known.(object)))
		}
	}
	return c.untyped
}

// withoutType returns an object as a dynamic client reads it; nil if there is none.
func withoutType(k *kind, typed object) apiruntime.Object {
	if typed == nil {
		return nil
	}
	// Only values that cannot be written as JSON fail, and API types have none.
	fields, _ := apiruntime.DefaultUnstructuredConverter.ToUnstructured(typed)
	untyped := &unstructured.Unstructured{Object: fields}
	untyped.SetGroupVersionKind(k.GroupVersionKind)
	return untyped
}

// Start implements dynamicinformer.DynamicSharedInformerFactory. There is nothing to start.
func (f *dynamicFactory) Start(<-chan struct{}) {}

// Shutdown implements dynamicinformer.DynamicSharedInformerFactory. There is nothing to wait for.
func (f *dynamicFactory) Shutdown() {}

// WaitForCacheSync implements dynamicinformer.DynamicSharedInformerFactory. Nothing was started, so that the result is
// empty.
func (f *dynamicFactory) WaitForCacheSync(<-chan struct{}) map[schema.GroupVersionResource]bool {
	return map[schema.GroupVersionResource]bool{}
}

type dynamicInformer struct {
	resource schema.GroupVersionResource
	informer *informer.Informer
}

// Informer implements informers.GenericInformer.
func (i dynamicInformer) Informer() clientcache.SharedIndexInformer { return i.informer }

// Lister implements informers.GenericInformer.
func (i dynamicInformer) Lister() clientcache.GenericLister {
	lister := dynamiclister.New(i.informer.GetIndexer(), i.resource)
	return dynamiclister.NewRuntimeObjectShim(lister)
}
