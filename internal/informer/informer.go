// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"
	"errors"
	"slices"
	"time"

	apiruntime "k8s.io/apimachinery/pkg/runtime"
	clientcache "k8s.io/client-go/tools/cache"
)

var _ clientcache.SharedIndexInformer = &Informer{}

// Informer is a shared informer without goroutines: whoever hands it a change sees every handler run before the call
// returns. What it knows is behind the store until then, as it would be behind a real API server.
type Informer struct {
	indexer   orderedIndexer
	handlers  []*registration
	transform clientcache.TransformFunc
	// used is set once the kind is asked for.
	used bool
	// visible filters what the informer shows; nil shows everything. An object that is no longer visible is deleted as
	// far as handlers can tell.
	visible func(apiruntime.Object) bool
}

// New returns an informer that knows no object. It shows those that visible reports; nil shows everything.
func New(visible func(apiruntime.Object) bool) *Informer {
	return &Informer{indexer: newOrderedIndexer(), visible: visible}
}

// Used reports whether the kind was asked for: a handler was added, or the store was handed out.
func (i *Informer) Used() bool { return i.used }

// Known returns the objects that the informer has, without counting as a use of it.
func (i *Informer) Known() clientcache.Indexer { return i.indexer }

// Shown returns an object if the informer shows it, and nil otherwise.
func (i *Informer) Shown(o apiruntime.Object) apiruntime.Object {
	if o == nil || i.visible != nil && !i.visible(o) {
		return nil
	}
	return o
}

// Deliver brings the informer up to date with one object and runs the handlers; current is nil if the object named by
// key is gone.
func (i *Informer) Deliver(key string, current apiruntime.Object) {
	current = i.Shown(current)
	var updated any = current
	if current != nil && i.transform != nil {
		if transformed, err := i.transform(current.DeepCopyObject()); err == nil {
			updated = transformed
		}
	}
	// An indexer fails only for objects without metadata, and the store takes none.
	old, known, _ := i.indexer.GetByKey(key)
	switch {
	case !known && current == nil:
	case !known:
		_ = i.indexer.Add(updated)
		i.notify(func(h clientcache.ResourceEventHandler) { h.OnAdd(updated, false) })
	case current == nil:
		_ = i.indexer.Delete(old)
		i.notify(func(h clientcache.ResourceEventHandler) { h.OnDelete(old) })
	default:
		_ = i.indexer.Update(updated)
		i.notify(func(h clientcache.ResourceEventHandler) { h.OnUpdate(old, updated) })
	}
}

// Lose has the handlers told what an informer tells them that misses an object in a list, and so does not know in which state it
// was deleted: the last one that it saw, in a clientcache.DeletedFinalStateUnknown.
func (i *Informer) Lose(key string) {
	old, known, _ := i.indexer.GetByKey(key)
	if !known {
		return
	}
	_ = i.indexer.Delete(old)
	i.notify(func(h clientcache.ResourceEventHandler) {
		h.OnDelete(clientcache.DeletedFinalStateUnknown{Key: key, Obj: old})
	})
}

func (i *Informer) notify(call func(clientcache.ResourceEventHandler)) {
	for _, registration := range slices.Clone(i.handlers) {
		call(registration.handler)
	}
}

// AddEventHandler implements clientcache.SharedInformer. The handler hears of the objects that there are before the
// call returns.
func (i *Informer) AddEventHandler(handler clientcache.ResourceEventHandler) (clientcache.ResourceEventHandlerRegistration, error) {
	i.used = true
	added := &registration{handler: handler}
	i.handlers = append(i.handlers, added)
	for _, object := range i.indexer.List() {
		handler.OnAdd(object, true)
	}
	return added, nil
}

// AddEventHandlerWithResyncPeriod implements clientcache.SharedInformer; there are no resyncs.
func (i *Informer) AddEventHandlerWithResyncPeriod(
	handler clientcache.ResourceEventHandler, _ time.Duration,
) (clientcache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandler(handler)
}

// AddEventHandlerWithOptions implements clientcache.SharedInformer; there are no resyncs.
func (i *Informer) AddEventHandlerWithOptions(
	handler clientcache.ResourceEventHandler, _ clientcache.HandlerOptions,
) (clientcache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandler(handler)
}

// RemoveEventHandler implements clientcache.SharedInformer.
func (i *Informer) RemoveEventHandler(handle clientcache.ResourceEventHandlerRegistration) error {
	if handle == nil {
		return errors.New("removing an event handler: the registration is nil")
	}
	i.handlers = slices.DeleteFunc(i.handlers, func(r *registration) bool { return r == handle })
	return nil
}

// GetStore implements clientcache.SharedInformer.
func (i *Informer) GetStore() clientcache.Store { return i.GetIndexer() }

// GetIndexer implements clientcache.SharedIndexInformer.
func (i *Informer) GetIndexer() clientcache.Indexer {
	i.used = true
	return i.indexer
}

// AddIndexers implements clientcache.SharedIndexInformer.
func (i *Informer) AddIndexers(indexers clientcache.Indexers) error {
	return i.indexer.AddIndexers(indexers)
}

// GetController implements clientcache.SharedInformer. There is none, which is what the interface asks for.
func (i *Informer) GetController() clientcache.Controller { return noController{} }

// Run implements clientcache.SharedInformer. There is nothing to run.
func (i *Informer) Run(<-chan struct{}) {}

// RunWithContext implements clientcache.SharedInformer. There is nothing to run.
func (i *Informer) RunWithContext(context.Context) {}

// HasSynced implements clientcache.SharedInformer.
func (i *Informer) HasSynced() bool { return true }

// HasSyncedChecker implements clientcache.SharedInformer.
func (i *Informer) HasSyncedChecker() clientcache.DoneChecker { return alwaysDone{} }

// LastSyncResourceVersion implements clientcache.SharedInformer.
func (i *Informer) LastSyncResourceVersion() string { return "" }

// SetWatchErrorHandler implements clientcache.SharedInformer. There is no watch that could fail.
func (i *Informer) SetWatchErrorHandler(clientcache.WatchErrorHandler) error { return nil }

// SetWatchErrorHandlerWithContext implements clientcache.SharedInformer. There is no watch that could fail.
func (i *Informer) SetWatchErrorHandlerWithContext(clientcache.WatchErrorHandlerWithContext) error {
	return nil
}

// SetTransform implements clientcache.SharedInformer.
func (i *Informer) SetTransform(transform clientcache.TransformFunc) error {
	i.transform = transform
	return nil
}

// IsStopped implements clientcache.SharedInformer.
func (i *Informer) IsStopped() bool { return false }

// registration is one handler of an informer.
type registration struct {
	handler clientcache.ResourceEventHandler
}

// HasSynced implements clientcache.ResourceEventHandlerRegistration.
func (r *registration) HasSynced() bool { return true }

// HasSyncedChecker implements clientcache.ResourceEventHandlerRegistration.
func (r *registration) HasSyncedChecker() clientcache.DoneChecker { return alwaysDone{} }

// alwaysDone is a wait that is over.
type alwaysDone struct{}

// Name implements clientcache.DoneChecker.
func (alwaysDone) Name() string { return "informer without a watch" }

// Done implements clientcache.DoneChecker.
func (alwaysDone) Done() <-chan struct{} {
	done := make(chan struct{})
	close(done)
	return done
}

// noController stands in for the deprecated controller of an informer.
type noController struct{}

// Run implements clientcache.Controller.
func (noController) Run(<-chan struct{}) {}

// RunWithContext implements clientcache.Controller.
func (noController) RunWithContext(context.Context) {}

// HasSynced implements clientcache.Controller.
func (noController) HasSynced() bool { return true }

// HasSyncedChecker implements clientcache.Controller.
func (noController) HasSyncedChecker() clientcache.DoneChecker { return alwaysDone{} }

// LastSyncResourceVersion implements clientcache.Controller.
func (noController) LastSyncResourceVersion() string { return "" }
