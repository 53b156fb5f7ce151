// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"fmt"
	"reflect"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/labels"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	informersapps "k8s.io/client-go/informers/apps/v1"
	informersv1 "k8s.io/client-go/informers/core/v1"
	informersstorage "k8s.io/client-go/informers/storage/v1"
	clientset "k8s.io/client-go/kubernetes"
	listersstorage "k8s.io/client-go/listers/storage/v1"
	clientcache "k8s.io/client-go/tools/cache"
	fwk "k8s.io/kube-scheduler/framework"
)

// stillInformer is an informer that has all its objects from the beginning and never hears of others. It hands them to
// a handler at once, in the goroutine that adds it.
type stillInformer struct {
	clientcache.SharedIndexInformer
}

type alwaysSynced struct {
	clientcache.ResourceEventHandlerRegistration
}

func (alwaysSynced) HasSynced() bool { return true }

func (s stillInformer) HasSynced() bool { return true }

func (s stillInformer) AddEventHandler(handler clientcache.ResourceEventHandler) (clientcache.ResourceEventHandlerRegistration, error) {
	for _, object := range s.GetIndexer().List() {
		handler.OnAdd(object, true)
	}
	return alwaysSynced{}, nil
}

func (s stillInformer) AddEventHandlerWithResyncPeriod(handler clientcache.ResourceEventHandler, _ time.Duration) (clientcache.ResourceEventHandlerRegistration, error) {
	return s.AddEventHandler(handler)
}

func (s stillInformer) AddEventHandlerWithOptions(handler clientcache.ResourceEventHandler, _ clientcache.HandlerOptions) (clientcache.ResourceEventHandlerRegistration, error) {
	return s.AddEventHandler(handler)
}

// filled returns informers that have the objects.
func filled(client clientset.Interface, objects []apiruntime.Object) (informers.SharedInformerFactory, error) {
	factory := informers.NewSharedInformerFactory(client, 0)
	byType := map[reflect.Type]clientcache.SharedIndexInformer{}
	index := func() clientcache.Indexers { // informers change theirs
		return clientcache.Indexers{clientcache.NamespaceIndex: clientcache.MetaNamespaceIndexFunc}
	}
	for example, make := range map[apiruntime.Object]func() clientcache.SharedIndexInformer{
		&v1.Namespace{}: func() clientcache.SharedIndexInformer { return informersv1.NewNamespaceInformer(client, 0, index()) },
		&v1.Service{}:   func() clientcache.SharedIndexInformer { return informersv1.NewServiceInformer(client, "", 0, index()) },
		&v1.PersistentVolume{}: func() clientcache.SharedIndexInformer {
			return informersv1.NewPersistentVolumeInformer(client, 0, index())
		},
		&v1.PersistentVolumeClaim{}: func() clientcache.SharedIndexInformer {
			return informersv1.NewPersistentVolumeClaimInformer(client, "", 0, index())
		},
		&appsv1.ReplicaSet{}: func() clientcache.SharedIndexInformer {
			return informersapps.NewReplicaSetInformer(client, "", 0, index())
		},
		&appsv1.StatefulSet{}: func() clientcache.SharedIndexInformer {
			return informersapps.NewStatefulSetInformer(client, "", 0, index())
		},
		&storagev1.StorageClass{}: func() clientcache.SharedIndexInformer {
			return informersstorage.NewStorageClassInformer(client, 0, index())
		},
		&storagev1.CSINode{}: func() clientcache.SharedIndexInformer { return informersstorage.NewCSINodeInformer(client, 0, index()) },
		&storagev1.CSIDriver{}: func() clientcache.SharedIndexInformer {
			return informersstorage.NewCSIDriverInformer(client, 0, index())
		},
		&storagev1.CSIStorageCapacity{}: func() clientcache.SharedIndexInformer {
			return informersstorage.NewCSIStorageCapacityInformer(client, "", 0, index())
		},
		&storagev1.VolumeAttachment{}: func() clientcache.SharedIndexInformer {
			return informersstorage.NewVolumeAttachmentInformer(client, 0, index())
		},
	} {
		byType[reflect.TypeOf(example)] = factory.InformerFor(example, func(clientset.Interface, time.Duration) clientcache.SharedIndexInformer {
			return stillInformer{make()}
		})
	}
	for _, object := range objects {
		informer := byType[reflect.TypeOf(object)]
		if informer == nil {
			return nil, fmt.Errorf("there is no informer for a %T here", object)
		}
		if err := informer.GetIndexer().Add(object); err != nil {
			return nil, err
		}
	}
	return factory, nil
}

// csiManager is the CSINodes of the informers.
type csiManager struct{ lister listersstorage.CSINodeLister }

func newCSIManager(factory informers.SharedInformerFactory) fwk.CSIManager {
	return csiManager{factory.Storage().V1().CSINodes().Lister()}
}

func (m csiManager) CSINodes() fwk.CSINodeLister { return m }

func (m csiManager) List() ([]*storagev1.CSINode, error) { return m.lister.List(labels.Everything()) }

func (m csiManager) Get(name string) (*storagev1.CSINode, error) { return m.lister.Get(name) }
