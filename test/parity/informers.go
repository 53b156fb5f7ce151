// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourceapi "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	informersapps "k8s.io/client-go/informers/apps/v1"
	informersv1 "k8s.io/client-go/informers/core/v1"
	informerspolicy "k8s.io/client-go/informers/policy/v1"
	informersresource "k8s.io/client-go/informers/resource/v1"
	informersstorage "k8s.io/client-go/informers/storage/v1"
	clientset "k8s.io/client-go/kubernetes"
	clientcache "k8s.io/client-go/tools/cache"
)

// synchronousInformer is an informer without an API server: it hears of what change is called with, and tells its
// handlers in the goroutine of the caller. A handler that is added hears at once of all objects that there are.
type synchronousInformer struct {
	clientcache.SharedIndexInformer
	handlers []clientcache.ResourceEventHandler
}

type alwaysSynced struct {
	clientcache.ResourceEventHandlerRegistration
}

func (alwaysSynced) HasSynced() bool { return true }

func (a alwaysSynced) HasSyncedChecker() clientcache.DoneChecker { return a }

// Name and Done implement clientcache.DoneChecker.
func (alwaysSynced) Name() string { return "synchronous informer" }

func (alwaysSynced) Done() <-chan struct{} {
	done := make(chan struct{})
	close(done)
	return done
}

func (s *synchronousInformer) HasSynced() bool { return true }

func (s *synchronousInformer) AddEventHandler(handler clientcache.ResourceEventHandler) (clientcache.ResourceEventHandlerRegistration, error) {
	keys := s.GetIndexer().ListKeys()
	slices.Sort(keys)
	for _, key := range keys {
		if object, found, err := s.GetIndexer().GetByKey(key); err == nil && found {
			handler.OnAdd(object, true)
		}
	}
	s.handlers = append(s.handlers, handler)
	return alwaysSynced{}, nil
}

func (s *synchronousInformer) AddEventHandlerWithResyncPeriod(handler clientcache.ResourceEventHandler, _ time.Duration) (clientcache.ResourceEventHandlerRegistration, error) {
	return s.AddEventHandler(handler)
}

func (s *synchronousInformer) AddEventHandlerWithOptions(handler clientcache.ResourceEventHandler, _ clientcache.HandlerOptions) (clientcache.ResourceEventHandlerRegistration, error) {
	return s.AddEventHandler(handler)
}

// change stores an object, or removes it, and tells the handlers. Removing what is not there does nothing.
func (s *synchronousInformer) change(object apiruntime.Object, remove bool) error {
	old, found, err := s.GetIndexer().Get(object)
	switch {
	case err != nil:
		return err
	case remove && !found:
		return nil
	case remove:
		err = s.GetIndexer().Delete(object)
	default:
		err = s.GetIndexer().Update(object)
	}
	for _, handler := range s.handlers {
		switch {
		case remove:
			handler.OnDelete(old)
		case found:
			handler.OnUpdate(old, object)
		default:
			handler.OnAdd(object, false)
		}
	}
	return err
}

// world is the objects of a cluster as informers have them.
type world struct {
	informers.SharedInformerFactory
	byType map[reflect.Type]*synchronousInformer
}

func (w world) of(object apiruntime.Object) (*synchronousInformer, error) {
	informer := w.byType[reflect.TypeOf(object)]
	if informer == nil {
		return nil, fmt.Errorf("there is no informer for a %T here", object)
	}
	return informer, nil
}

func (w world) change(object apiruntime.Object, remove bool) error {
	informer, err := w.of(object)
	if err != nil {
		return err
	}
	return informer.change(object, remove)
}

// get returns an object of the same kind and name, or nil.
func (w world) get(object apiruntime.Object) any {
	informer, err := w.of(object)
	if err != nil {
		return nil
	}
	found, _, _ := informer.GetIndexer().Get(object)
	return found
}

// newWorld returns informers that have the objects.
func newWorld(client clientset.Interface, objects []apiruntime.Object) (world, error) {
	w := world{informers.NewSharedInformerFactory(client, 0), map[reflect.Type]*synchronousInformer{}}
	for example, informer := range unstarted(client) {
		own := &synchronousInformer{SharedIndexInformer: informer}
		w.byType[reflect.TypeOf(example)] = own
		w.InformerFor(example, func(clientset.Interface, time.Duration) clientcache.SharedIndexInformer { return own })
	}
	for _, object := range objects {
		if err := w.change(object, false); err != nil {
			return world{}, err
		}
	}
	return w, nil
}

// unstarted returns an informer for each kind that plugins look at.
func unstarted(client clientset.Interface) map[apiruntime.Object]clientcache.SharedIndexInformer {
	index := func() clientcache.Indexers { // informers change theirs
		return clientcache.Indexers{clientcache.NamespaceIndex: clientcache.MetaNamespaceIndexFunc}
	}
	return map[apiruntime.Object]clientcache.SharedIndexInformer{
		&v1.Node{}:                      informersv1.NewNodeInformer(client, 0, index()),
		&v1.Pod{}:                       informersv1.NewPodInformer(client, "", 0, index()),
		&v1.Namespace{}:                 informersv1.NewNamespaceInformer(client, 0, index()),
		&v1.Service{}:                   informersv1.NewServiceInformer(client, "", 0, index()),
		&v1.ReplicationController{}:     informersv1.NewReplicationControllerInformer(client, "", 0, index()),
		&v1.PersistentVolume{}:          informersv1.NewPersistentVolumeInformer(client, 0, index()),
		&v1.PersistentVolumeClaim{}:     informersv1.NewPersistentVolumeClaimInformer(client, "", 0, index()),
		&appsv1.ReplicaSet{}:            informersapps.NewReplicaSetInformer(client, "", 0, index()),
		&appsv1.StatefulSet{}:           informersapps.NewStatefulSetInformer(client, "", 0, index()),
		&policyv1.PodDisruptionBudget{}: informerspolicy.NewPodDisruptionBudgetInformer(client, "", 0, index()),
		&storagev1.StorageClass{}:       informersstorage.NewStorageClassInformer(client, 0, index()),
		&storagev1.CSINode{}:            informersstorage.NewCSINodeInformer(client, 0, index()),
		&storagev1.CSIDriver{}:          informersstorage.NewCSIDriverInformer(client, 0, index()),
		&storagev1.CSIStorageCapacity{}: informersstorage.NewCSIStorageCapacityInformer(client, "", 0, index()),
		&storagev1.VolumeAttachment{}:   informersstorage.NewVolumeAttachmentInformer(client, 0, index()),
		&resourceapi.ResourceClaim{}:    informersresource.NewResourceClaimInformer(client, "", 0, index()),
		&resourceapi.ResourceSlice{}:    informersresource.NewResourceSliceInformer(client, 0, index()),
		&resourceapi.DeviceClass{}:      informersresource.NewDeviceClassInformer(client, 0, index()),
		&resourceapi.DeviceTaintRule{}:  informersresource.NewDeviceTaintRuleInformer(client, 0, index()),
	}
}
