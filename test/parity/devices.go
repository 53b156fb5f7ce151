// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"context"
	"fmt"
	"strconv"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/dynamic-resource-allocation/resourceslice/tracker"
	fwk "k8s.io/kube-scheduler/framework"
	upstreamdynamicresources "k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/util/assumecache"
)

// theirDevices is what kube-scheduler knows of devices, made as it makes it.
func theirDevices(ctx context.Context, w world) (fwk.SharedDRAManager, error) {
	resources := w.Resource().V1()
	slices, err := tracker.StartTracker(ctx, tracker.Options{
		EnableDeviceTaintRules: true, EnableConsumableCapacity: true,
		SliceInformer: resources.ResourceSlices(), TaintInformer: resources.DeviceTaintRules(),
	})
	if err != nil {
		return nil, err
	}
	claims := assumecache.NewAssumeCache(discard, resources.ResourceClaims().Informer(), "ResourceClaim", "", nil)
	manager := upstreamdynamicresources.NewDRAManager(ctx, claims, slices, w)
	// Its scheduler connects the names of extended resources with the informer.
	names, ok := manager.DeviceClassResolver().(clientcache.ResourceEventHandler)
	if !ok {
		return nil, fmt.Errorf("%T does not listen to device classes", manager.DeviceClassResolver())
	}
	_, err = resources.DeviceClasses().Informer().AddEventHandler(names)
	return manager, err
}

// claimServer answers requests for claims, and tells the informers at once.
type claimServer struct {
	world   world
	claims  map[string]*resourceapi.ResourceClaim
	version int
}

// serveClaims has a client answered from the claims that the informers have.
func serveClaims(client *fake.Clientset, w world) {
	s := &claimServer{world: w, claims: map[string]*resourceapi.ResourceClaim{}, version: 1000}
	informer, err := w.of(&resourceapi.ResourceClaim{})
	if err != nil {
		panic(err) // newWorld has one
	}
	for _, object := range informer.GetIndexer().List() {
		claim := object.(*resourceapi.ResourceClaim)
		s.claims[claim.Namespace+"/"+claim.Name] = claim
	}
	client.PrependReactor("*", "resourceclaims", s.react)
}

func (s *claimServer) react(action clienttesting.Action) (bool, apiruntime.Object, error) {
	switch action := action.(type) {
	case clienttesting.CreateActionImpl:
		claim := action.GetObject().(*resourceapi.ResourceClaim).DeepCopy()
		claim.Status = resourceapi.ResourceClaimStatus{}
		claim.Name = fmt.Sprintf("%s%d", claim.GenerateName, len(s.claims))
		claim.UID = types.UID("made-" + claim.Name)
		return true, s.put(claim), nil
	case clienttesting.UpdateActionImpl:
		claim := action.GetObject().(*resourceapi.ResourceClaim).DeepCopy()
		if s.claims[claim.Namespace+"/"+claim.Name] == nil {
			break
		}
		return true, s.put(claim), nil
	case clienttesting.PatchActionImpl:
		if claim := s.claims[action.GetNamespace()+"/"+action.GetName()]; claim != nil {
			return true, claim, nil // what is asked for is compared, and changes nothing
		}
	case clienttesting.DeleteActionImpl:
		key := action.GetNamespace() + "/" + action.GetName()
		if claim := s.claims[key]; claim != nil {
			delete(s.claims, key)
			return true, nil, s.world.change(claim, true)
		}
	case clienttesting.GetActionImpl:
		if claim := s.claims[action.GetNamespace()+"/"+action.GetName()]; claim != nil {
			return true, claim.DeepCopy(), nil
		}
	}
	return true, nil, apierrors.NewNotFound(resourceapi.Resource("resourceclaims"), "claim")
}

func (s *claimServer) put(claim *resourceapi.ResourceClaim) *resourceapi.ResourceClaim {
	s.version++
	claim.ResourceVersion = strconv.Itoa(s.version)
	s.claims[claim.Namespace+"/"+claim.Name] = claim
	if err := s.world.change(claim.DeepCopy(), false); err != nil {
		panic(err) // the informer is there
	}
	return claim.DeepCopy()
}

// noDevices is the dynamic resources of a cluster without any. Without a manager, kube-scheduler's plugins panic.
type noDevices struct{}

func (noDevices) ResourceClaims() fwk.ResourceClaimTracker                { return nil }
func (noDevices) ResourceSlices() fwk.ResourceSliceLister                 { return nil }
func (noDevices) DeviceClasses() fwk.DeviceClassLister                    { return nil }
func (noDevices) DeviceClassResolver() fwk.DeviceClassResolver            { return noDevices{} }
func (noDevices) GetDeviceClass(v1.ResourceName) *resourceapi.DeviceClass { return nil }
