// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"

	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/rouse-scheduler/rouse/scheduler"
)

// watched is an informer that is told what there is, in place of a connection to a server.
type watched struct {
	clientcache.SharedIndexInformer
	handlers []clientcache.ResourceEventHandler
}

func newWatched(object apiruntime.Object) *watched {
	return &watched{SharedIndexInformer: clientcache.NewSharedIndexInformer(&clientcache.ListWatch{}, object, 0,
		clientcache.Indexers{clientcache.NamespaceIndex: clientcache.MetaNamespaceIndexFunc})}
}

// AddEventHandler implements clientcache.SharedInformer.
func (w *watched) AddEventHandler(handler clientcache.ResourceEventHandler) (clientcache.ResourceEventHandlerRegistration, error) {
	w.handlers = append(w.handlers, handler)
	return w.SharedIndexInformer.AddEventHandler(handler)
}

// AddEventHandlerWithOptions implements clientcache.SharedInformer.
func (w *watched) AddEventHandlerWithOptions(
	handler clientcache.ResourceEventHandler, options clientcache.HandlerOptions,
) (clientcache.ResourceEventHandlerRegistration, error) {
	w.handlers = append(w.handlers, handler)
	return w.SharedIndexInformer.AddEventHandlerWithOptions(handler, options)
}

// instead makes a factory use the informer in place of its own.
func (w *watched) instead(clientset.Interface, time.Duration) clientcache.SharedIndexInformer {
	return w
}

// add stores an object and tells the handlers of it.
func (w *watched) add(object any) error {
	if err := w.GetIndexer().Add(object); err != nil {
		return err
	}
	for _, handler := range w.handlers {
		handler.OnAdd(object, true)
	}
	return nil
}

// addAll adds objects one after the other.
func addAll[T any](w *watched, objects []T) error {
	for _, object := range objects {
		if err := w.add(object); err != nil {
			return err
		}
	}
	return nil
}

// update stores another version of an object and tells the handlers of it.
func (w *watched) update(old, object any) error {
	if err := w.GetIndexer().Update(object); err != nil {
		return err
	}
	for _, handler := range w.handlers {
		handler.OnUpdate(old, object)
	}
	return nil
}

// watchedCluster has objects that schedulers know from informers.
type watchedCluster interface {
	// informers has a factory deliver the objects, and returns what tells the handlers of them.
	informers(factory informers.SharedInformerFactory) (deliver func() error)
}

func newRouseFor(ctx context.Context, cluster watchedCluster) (*rouseDecider, error) {
	client := fake.NewClientset()
	factory := scheduler.NewInformerFactoryWith(client, scheduler.InformerOptions{TrimPods: true})
	deliver := cluster.informers(factory)
	d, err := newRouseDeciderOn(ctx, settings{}, client, factory)
	if err != nil {
		return nil, err
	}
	return d, deliver()
}

func newKubeSchedulerFor(ctx context.Context, cluster watchedCluster) (*kubeSchedulerDecider, error) {
	client := fake.NewClientset()
	factory := informers.NewSharedInformerFactory(client, 0)
	deliver := cluster.informers(factory)
	d, err := newKubeSchedulerDeciderOn(ctx, settings{}, client, factory)
	if err != nil {
		return nil, err
	}
	return d, deliver()
}
