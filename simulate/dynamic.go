// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/dynamic/dynamiclister"
	"k8s.io/client-go/informers"
	clientcache "k8s.io/client-go/tools/cache"
)

var _ dynamicinformer.DynamicSharedInformerFactory = &dynamicFactory{}

// dynamicFactory hands out informers of custom kinds. A kind that nobody asked for does not exist in the cluster.
type dynamicFactory struct {
	store *store
}

// ForResource implements dynamicinformer.DynamicSharedInformerFactory.
func (f *dynamicFactory) ForResource(resource schema.GroupVersionResource) informers.GenericInformer {
	f.store.mu.Lock()
	defer f.store.mu.Unlock()
	c := f.store.collections[resource]
	if c == nil {
		c = f.store.addKind(&kind{
			GroupVersionKind: resource.GroupVersion().WithKind(""),
			resource:         resource,
		})
	}
	return dynamicInformer{collection: c}
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
	collection *collection
}

// Informer implements informers.GenericInformer.
func (i dynamicInformer) Informer() clientcache.SharedIndexInformer { return i.collection.informer }

// Lister implements informers.GenericInformer.
func (i dynamicInformer) Lister() clientcache.GenericLister {
	lister := dynamiclister.New(i.collection.informer.GetIndexer(), i.collection.resource)
	return dynamiclister.NewRuntimeObjectShim(lister)
}
