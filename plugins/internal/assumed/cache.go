// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package assumed

import (
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientcache "k8s.io/client-go/tools/cache"
)

// Cache has the objects of an informer with assumed changes on top; T is a pointer to an API type. Make one with [New].
// Objects are named by key, namespace/name or, without a namespace, the name alone. They must not be changed.
type Cache[T metav1.Object] struct {
	resource     schema.GroupResource
	informer     clientcache.SharedIndexInformer
	registration clientcache.ResourceEventHandlerRegistration
	store        clientcache.Indexer

	mu      sync.RWMutex
	assumed map[string]T
}

// New returns a cache on top of an informer, which need not be running yet. The resource is what errors say is missing.
// The cache listens to the informer until it is closed.
func New[T metav1.Object](resource schema.GroupResource, informer clientcache.SharedIndexInformer) (*Cache[T], error) {
	c := &Cache[T]{resource: resource, informer: informer, store: informer.GetIndexer(), assumed: map[string]T{}}
	var err error
	c.registration, err = informer.AddEventHandler(clientcache.ResourceEventHandlerFuncs{
		AddFunc:    c.changed,
		UpdateFunc: func(_, object any) { c.changed(object) },
		DeleteFunc: c.changed,
	})
	if err != nil {
		return nil, fmt.Errorf("listening to changes of %s: %w", resource, err)
	}
	return c, nil
}

// Close makes the cache stop listening to its informer.
func (c *Cache[T]) Close() error { return c.informer.RemoveEventHandler(c.registration) }

// Get returns an object, the assumed one if it counts. An object that the informer does not have is not found.
func (c *Cache[T]) Get(key string) (T, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	stored, err := c.Stored(key)
	if err != nil {
		return stored, err
	}
	return c.current(key, stored), nil
}

// Stored returns an object as the informer has it.
func (c *Cache[T]) Stored(key string) (T, error) {
	var none T
	object, found, err := c.store.GetByKey(key)
	if err != nil {
		return none, fmt.Errorf("looking up %s %q: %w", c.resource, key, err)
	}
	if !found {
		return none, apierrors.NewNotFound(c.resource, key)
	}
	return c.typed(key, object)
}

// ByIndex returns the objects that an index of the informer has under a value, assumed ones where they count. The index
// goes by the objects as the informer has them.
func (c *Cache[T]) ByIndex(index, value string) ([]T, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	objects, err := c.store.ByIndex(index, value)
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", c.resource, err)
	}
	found := make([]T, 0, len(objects))
	for _, object := range objects {
		key, err := clientcache.MetaNamespaceKeyFunc(object)
		if err != nil {
			return nil, fmt.Errorf("listing %s: %w", c.resource, err)
		}
		stored, err := c.typed(key, object)
		if err != nil {
			return nil, err
		}
		found = append(found, c.current(key, stored))
	}
	return found, nil
}

// Assume puts a changed object in place of the one that the informer has, of which it must be a changed copy with the same
// resource version. It replaces what was assumed of the object before. It fails if the informer has another version.
func (c *Cache[T]) Assume(object T) error {
	key, err := clientcache.MetaNamespaceKeyFunc(object)
	if err != nil {
		return fmt.Errorf("assuming a change of %s: %w", c.resource, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	stored, err := c.Stored(key)
	if err != nil {
		return err
	}
	if stored.GetResourceVersion() != object.GetResourceVersion() {
		return fmt.Errorf("%s %q is out of sync (stored: %s, assume: %s)",
			c.resource, key, stored.GetResourceVersion(), object.GetResourceVersion())
	}
	c.assumed[key] = object
	return nil
}

// Restore takes back what Assume was given. It does nothing if the object is no longer assumed, or another one is.
func (c *Cache[T]) Restore(object T) {
	key, err := clientcache.MetaNamespaceKeyFunc(object)
	if err != nil {
		return // was never assumed
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if any(c.assumed[key]) == any(object) {
		delete(c.assumed, key)
	}
}

// changed forgets an assumed object that does not count any more. That the informer announces a change which it made
// before the object was assumed does no harm, since only what the informer has now is looked at.
func (c *Cache[T]) changed(object any) {
	key, err := clientcache.DeletionHandlingMetaNamespaceKeyFunc(object)
	if err != nil {
		return // not an object of the informer
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	assumed, found := c.assumed[key]
	if !found {
		return
	}
	if stored, err := c.Stored(key); err != nil || stored.GetResourceVersion() != assumed.GetResourceVersion() {
		delete(c.assumed, key)
	}
}

// current returns the assumed object if there is one of the stored version, and otherwise the stored one. The caller
// holds the lock.
func (c *Cache[T]) current(key string, stored T) T {
	if assumed, found := c.assumed[key]; found && assumed.GetResourceVersion() == stored.GetResourceVersion() {
		return assumed
	}
	return stored
}

func (c *Cache[T]) typed(key string, object any) (T, error) {
	typed, ok := object.(T)
	if !ok {
		return typed, fmt.Errorf("looking up %s %q: the informer has a %T", c.resource, key, object)
	}
	return typed, nil
}
