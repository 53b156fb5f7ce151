// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"errors"
	"time"

	v1 "k8s.io/api/core/v1"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/rouse-scheduler/rouse/framework"
)

// compactInformer is an informer of pods whose store has [framework.CompactPod]. Whoever uses it sees a v1.Pod instead, which
// is made when it is asked for; only a handler that is a compactHandler gets objects as they are stored.
type compactInformer struct {
	clientcache.SharedIndexInformer
}

// newCompactInformer has an informer of pods store them trimmed and compact.
func newCompactInformer(pods clientcache.SharedIndexInformer, shared *sharedValues) compactInformer {
	// Setting a transform only fails on an informer that runs already.
	_ = pods.SetTransform(func(object any) (any, error) {
		trimmed, err := shared.trim(object)
		if compact, ok := trimmed.(*framework.CompactPod); ok {
			if pod, ok := object.(*v1.Pod); ok { // the handlers will ask for it soon
				compact.MakeIn(pod)
			}
		}
		return trimmed, err
	})
	return compactInformer{pods}
}

// compactHandler is an event handler for objects that may be compact.
type compactHandler interface {
	clientcache.ResourceEventHandler
	takesCompactPods()
}

// fullPod returns the object that users of an informer see: of a compact pod, also one in a tombstone, the v1.Pod.
func fullPod(object any) any {
	switch object := object.(type) {
	case *framework.CompactPod:
		return object.Pod()
	case clientcache.DeletedFinalStateUnknown:
		object.Obj = fullPod(object.Obj)
		return object
	}
	return object
}

// AddEventHandler implements clientcache.SharedInformer.
func (i compactInformer) AddEventHandler(handler clientcache.ResourceEventHandler) (clientcache.ResourceEventHandlerRegistration, error) {
	return i.SharedIndexInformer.AddEventHandler(seesFullPods(handler))
}

// AddEventHandlerWithResyncPeriod implements clientcache.SharedInformer.
func (i compactInformer) AddEventHandlerWithResyncPeriod(
	handler clientcache.ResourceEventHandler, resync time.Duration,
) (clientcache.ResourceEventHandlerRegistration, error) {
	return i.SharedIndexInformer.AddEventHandlerWithResyncPeriod(seesFullPods(handler), resync)
}

// AddEventHandlerWithOptions implements clientcache.SharedInformer.
func (i compactInformer) AddEventHandlerWithOptions(
	handler clientcache.ResourceEventHandler, options clientcache.HandlerOptions,
) (clientcache.ResourceEventHandlerRegistration, error) {
	return i.SharedIndexInformer.AddEventHandlerWithOptions(seesFullPods(handler), options)
}

// SetTransform implements clientcache.SharedInformer. It fails: pods have passed through another transform before.
func (i compactInformer) SetTransform(clientcache.TransformFunc) error {
	return errors.New("setting a transform of pods: pods are trimmed already; use an informer factory without InformerOptions.TrimPods")
}

// GetStore implements clientcache.SharedInformer.
func (i compactInformer) GetStore() clientcache.Store { return i.GetIndexer() }

// GetIndexer implements clientcache.SharedIndexInformer.
func (i compactInformer) GetIndexer() clientcache.Indexer {
	return compactIndexer{i.SharedIndexInformer.GetIndexer()}
}

// AddIndexers implements clientcache.SharedIndexInformer.
func (i compactInformer) AddIndexers(indexers clientcache.Indexers) error {
	return i.SharedIndexInformer.AddIndexers(indexFullPods(indexers))
}

// seesFullPods returns a handler that passes the pods on that users see.
func seesFullPods(handler clientcache.ResourceEventHandler) clientcache.ResourceEventHandler {
	if _, ok := handler.(compactHandler); ok || handler == nil {
		return handler
	}
	return clientcache.ResourceEventHandlerDetailedFuncs{
		AddFunc:    func(object any, initial bool) { handler.OnAdd(fullPod(object), initial) },
		UpdateFunc: func(old, new any) { handler.OnUpdate(fullPod(old), fullPod(new)) },
		DeleteFunc: func(object any) { handler.OnDelete(fullPod(object)) },
	}
}

// indexFullPods returns indexers that index the pods that users see.
func indexFullPods(indexers clientcache.Indexers) clientcache.Indexers {
	full := make(clientcache.Indexers, len(indexers))
	for name, index := range indexers {
		full[name] = func(object any) ([]string, error) { return index(fullPod(object)) }
		if name == clientcache.NamespaceIndex { // which only reads the metadata
			full[name] = index
		}
	}
	return full
}

// compactIndexer is the store of a compactInformer as users see it.
type compactIndexer struct {
	clientcache.Indexer
}

// List implements clientcache.Store.
func (i compactIndexer) List() []any { return fullPods(i.Indexer.List()) }

// Get implements clientcache.Store.
func (i compactIndexer) Get(object any) (any, bool, error) {
	found, exists, err := i.Indexer.Get(object)
	return fullPod(found), exists, err
}

// GetByKey implements clientcache.Store.
func (i compactIndexer) GetByKey(key string) (any, bool, error) {
	found, exists, err := i.Indexer.GetByKey(key)
	return fullPod(found), exists, err
}

// Index implements clientcache.Indexer.
func (i compactIndexer) Index(index string, object any) ([]any, error) {
	found, err := i.Indexer.Index(index, object)
	return fullPods(found), err
}

// ByIndex implements clientcache.Indexer.
func (i compactIndexer) ByIndex(index, value string) ([]any, error) {
	found, err := i.Indexer.ByIndex(index, value)
	return fullPods(found), err
}

// AddIndexers implements clientcache.Indexer.
func (i compactIndexer) AddIndexers(indexers clientcache.Indexers) error {
	return i.Indexer.AddIndexers(indexFullPods(indexers))
}

// fullPods replaces the elements of a list.
func fullPods(objects []any) []any {
	for i := range objects {
		objects[i] = fullPod(objects[i])
	}
	return objects
}

// podHandler is the event handler of a scheduler for pods, compact or not.
type podHandler struct {
	clientcache.ResourceEventHandlerFuncs
}

func (podHandler) takesCompactPods() {}

// storedPod is a pod of an informer.
type storedPod struct {
	*v1.Pod
	// compact is the pod as it is stored; nil if it is not compact.
	compact *framework.CompactPod
}

// storedPodOf returns what an event is about, and false if that is no pod.
func storedPodOf(object any) (storedPod, bool) {
	pod, ok := fullPod(object).(*v1.Pod)
	compact, _ := object.(*framework.CompactPod)
	return storedPod{pod, compact}, ok
}
