// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package kubescheduler

import (
	"context"
	"fmt"

	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/labels"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	listersstorage "k8s.io/client-go/listers/storage/v1"
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/dynamic-resource-allocation/resourceslice/tracker"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/features"
	upstreamdynamicresources "k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/util/assumecache"
)

// NewDRAManager returns what kube-scheduler knows of devices, made as it makes it.
func NewDRAManager(ctx context.Context, factory informers.SharedInformerFactory) (fwk.SharedDRAManager, error) {
	resources := factory.Resource().V1()
	options := tracker.Options{
		EnableDeviceTaintRules:   utilfeature.DefaultFeatureGate.Enabled(features.DRADeviceTaintRules),
		EnableConsumableCapacity: utilfeature.DefaultFeatureGate.Enabled(features.DRAConsumableCapacity),
		SliceInformer:            resources.ResourceSlices(),
	}
	if options.EnableDeviceTaintRules {
		options.TaintInformer = resources.DeviceTaintRules()
	}
	slices, err := tracker.StartTracker(ctx, options)
	if err != nil {
		return nil, err
	}
	claims := assumecache.NewAssumeCache(klog.Logger{}, resources.ResourceClaims().Informer(), "ResourceClaim", "", nil)
	manager := upstreamdynamicresources.NewDRAManager(ctx, claims, slices, factory)
	// Its scheduler connects the names of extended resources with the informer.
	names, ok := manager.DeviceClassResolver().(clientcache.ResourceEventHandler)
	if !ok {
		return nil, fmt.Errorf("%T does not listen to device classes", manager.DeviceClassResolver())
	}
	_, err = resources.DeviceClasses().Informer().AddEventHandler(names)
	return manager, err
}

// csiManager is the CSINodes of the informers.
type csiManager struct{ lister listersstorage.CSINodeLister }

// NewCSIManager returns a manager of the CSINodes of the informers.
func NewCSIManager(factory informers.SharedInformerFactory) fwk.CSIManager {
	return csiManager{factory.Storage().V1().CSINodes().Lister()}
}

// CSINodes implements fwk.CSIManager.
func (m csiManager) CSINodes() fwk.CSINodeLister { return m }

// List implements fwk.CSINodeLister.
func (m csiManager) List() ([]*storagev1.CSINode, error) { return m.lister.List(labels.Everything()) }

// Get implements fwk.CSINodeLister.
func (m csiManager) Get(name string) (*storagev1.CSINode, error) { return m.lister.Get(name) }
