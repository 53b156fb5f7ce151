// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	informersv1 "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/informers/internalinterfaces"
	clientset "k8s.io/client-go/kubernetes"
	clientcache "k8s.io/client-go/tools/cache"
	fwk "k8s.io/kube-scheduler/framework"
)

// unfinishedPods selects the pods that still take something from a node, or want to. A pod that finishes leaves the
// selection, which the informer reports as a deletion.
const unfinishedPods = "status.phase!=" + string(v1.PodSucceeded) + ",status.phase!=" + string(v1.PodFailed)

// NewInformerFactory returns an informer factory for a scheduler: no resync, and pods without those that are finished
// and without the record of who manages which field.
func NewInformerFactory(client clientset.Interface) informers.SharedInformerFactory {
	return NewNamedInformerFactory(client, nil)
}

// NewNamedInformerFactory is like [NewInformerFactory]; the metrics of client-go show the informers under the name. A
// nil name keeps them out of the metrics.
func NewNamedInformerFactory(client clientset.Interface, name *clientcache.InformerName) informers.SharedInformerFactory {
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithInformerName(name))
	factory.InformerFor(&v1.Pod{}, func(client clientset.Interface, resync time.Duration) clientcache.SharedIndexInformer {
		return newPodInformer(client, resync, name)
	})
	return factory
}

func newPodInformer(client clientset.Interface, resync time.Duration, name *clientcache.InformerName) clientcache.SharedIndexInformer {
	selector := fields.ParseSelectorOrDie(unfinishedPods).String()
	informer := informersv1.NewPodInformerWithOptions(client, metav1.NamespaceAll, internalinterfaces.InformerOptions{
		ResyncPeriod:     resync,
		Indexers:         clientcache.Indexers{},
		InformerName:     name,
		TweakListOptions: func(options *metav1.ListOptions) { options.FieldSelector = selector },
	})
	// Setting a transform only fails on an informer that runs already.
	_ = informer.SetTransform(dropManagedFields)
	return informer
}

func dropManagedFields(object any) (any, error) {
	if accessor, err := meta.Accessor(object); err == nil {
		accessor.SetManagedFields(nil)
	}
	return object, nil
}

// WaitForHandlersSync returns once every object that existed when the informers started has passed through the event
// handlers, or with an error when the context ends before. Scheduling earlier would see half a cluster.
func (s *Scheduler) WaitForHandlersSync(ctx context.Context) error {
	err := wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(context.Context) (bool, error) {
		return len(s.UnsyncedKinds()) == 0, nil
	})
	if err != nil {
		return fmt.Errorf("handlers are not fully synchronized: %w", err)
	}
	return nil
}

// UnsyncedKinds returns the kinds of objects of which not all that existed when the informers started have passed
// through the event handlers, by the names of the event table; a custom kind is called plural.version.group. The kind
// of a CustomResourceDefinition that does not exist stays among them until it does.
func (s *Scheduler) UnsyncedKinds() []fwk.EventResource {
	var kinds []fwk.EventResource
	for _, handler := range s.handlers {
		if !handler.registration.HasSynced() {
			kinds = append(kinds, handler.kind)
		}
	}
	return kinds
}
