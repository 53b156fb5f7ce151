// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"time"

	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	clientset "k8s.io/client-go/kubernetes"
	clientcache "k8s.io/client-go/tools/cache"
)

// newInformerFactory returns an informer factory whose informers, of every kind that client-go has a type for, are
// those of the store. The factory itself is the real one, so that schedulers and plugins ask it as in a cluster.
func newInformerFactory(client clientset.Interface, s *store) informers.SharedInformerFactory {
	factory := informers.NewSharedInformerFactory(client, 0)
	for _, k := range s.kinds.sorted() {
		shared := s.collections[k.resource].informer
		factory.InformerFor(k.newObject(), func(clientset.Interface, time.Duration) clientcache.SharedIndexInformer {
			return shared
		})
	}
	return factory
}

// unfinishedPod reports whether a pod still takes something from a node, or wants to. Informers don't show others.
func unfinishedPod(o apiruntime.Object) bool {
	pod, isPod := o.(*v1.Pod)
	return !isPod || pod.Status.Phase != v1.PodSucceeded && pod.Status.Phase != v1.PodFailed
}
