// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	fwk "k8s.io/kube-scheduler/framework"
)

// claimServer answers requests for claims and pods, and tells the informers of claims at once.
type claimServer struct {
	world   world
	claims  map[string]*resourceapi.ResourceClaim
	pods    map[string]*v1.Pod
	version int
	// driver hears of every claim that a plugin writes; nil is none.
	driver func(*resourceapi.ResourceClaim)
}

// serveClaims has a client answered from the claims that the informers have.
func serveClaims(client *fake.Clientset, w world) *claimServer {
	s := &claimServer{world: w, claims: map[string]*resourceapi.ResourceClaim{}, pods: map[string]*v1.Pod{}, version: 1000}
	informer, err := w.of(&resourceapi.ResourceClaim{})
	if err != nil {
		panic(err) // newWorld has one
	}
	for _, object := range informer.GetIndexer().List() {
		claim := object.(*resourceapi.ResourceClaim)
		s.claims[claim.Namespace+"/"+claim.Name] = claim
	}
	client.PrependReactor("*", "resourceclaims", s.react)
	client.PrependReactor("patch", "pods", func(action clienttesting.Action) (bool, apiruntime.Object, error) {
		patched := action.(clienttesting.PatchActionImpl)
		return true, s.pods[patched.GetNamespace()+"/"+patched.GetName()], nil // what is asked for is compared, and changes nothing
	})
	return s
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
		current := s.claims[claim.Namespace+"/"+claim.Name]
		if current == nil {
			break
		}
		if claim.ResourceVersion != current.ResourceVersion {
			return true, nil, apierrors.NewConflict(resourceapi.Resource("resourceclaims"), claim.Name, errors.New("the object has been modified"))
		}
		written := s.put(claim)
		if s.driver != nil {
			s.driver(written)
		}
		return true, written, nil
	case clienttesting.PatchActionImpl:
		if claim := s.claims[action.GetNamespace()+"/"+action.GetName()]; claim != nil {
			return true, s.unreserve(claim.DeepCopy(), action.GetPatch()), nil
		}
	case clienttesting.DeleteActionImpl:
		if claim := s.claims[action.GetNamespace()+"/"+action.GetName()]; claim != nil {
			return true, nil, s.remove(claim)
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

// unreserve takes the pods out of a claim that a patch deletes there. No other patches of claims are made.
func (s *claimServer) unreserve(claim *resourceapi.ResourceClaim, patch []byte) *resourceapi.ResourceClaim {
	type user struct {
		Patch string    `json:"$patch"`
		UID   types.UID `json:"uid"`
	}
	var asked struct {
		Status struct {
			ReservedFor []user `json:"reservedFor"`
		} `json:"status"`
	}
	if err := json.Unmarshal(patch, &asked); err != nil {
		panic(err) // it is what a plugin wrote
	}
	claim.Status.ReservedFor = slices.DeleteFunc(claim.Status.ReservedFor, func(reference resourceapi.ResourceClaimConsumerReference) bool {
		return slices.Contains(asked.Status.ReservedFor, user{"delete", reference.UID})
	})
	return s.put(claim)
}

func (s *claimServer) remove(claim *resourceapi.ResourceClaim) error {
	s.version++
	delete(s.claims, claim.Namespace+"/"+claim.Name)
	return s.world.change(claim, true)
}

// isTaken reports whether a device of an allocation is another claim's already. Of such a device, which two claims have,
// kube-scheduler takes for free what one of them gives back.
func (s *claimServer) isTaken(claim *resourceapi.ResourceClaim) bool {
	for _, other := range s.claims {
		if other.Name == claim.Name || other.Status.Allocation == nil || claim.Status.Allocation == nil {
			continue
		}
		for i := range other.Status.Allocation.Devices.Results {
			has := &other.Status.Allocation.Devices.Results[i]
			if slices.ContainsFunc(claim.Status.Allocation.Devices.Results, func(wants resourceapi.DeviceRequestAllocationResult) bool {
				return idOf(has) == idOf(&wants) && (has.ShareID == nil || wants.ShareID == nil)
			}) {
				return true
			}
		}
	}
	return false
}

// rules returns what says which allocations are valid. The claims that are about to be allocated are given.
func (s *claimServer) rules(pending ...*resourceapi.ResourceClaim) *deviceRules {
	r := &deviceRules{
		slices: objectsOf[*resourceapi.ResourceSlice](s.world), taints: objectsOf[*resourceapi.DeviceTaintRule](s.world),
		classes: map[string]*resourceapi.DeviceClass{}, allocated: pending,
	}
	for _, class := range objectsOf[*resourceapi.DeviceClass](s.world) {
		r.classes[class.Name] = class
	}
	for _, claim := range s.claims {
		same := func(other *resourceapi.ResourceClaim) bool { return other.UID == claim.UID }
		if claim.Status.Allocation != nil && !slices.ContainsFunc(pending, same) {
			r.allocated = append(r.allocated, claim)
		}
	}
	return r
}

// objectsOf returns the objects of a kind that informers have.
func objectsOf[T apiruntime.Object](w world) []T {
	var example T
	informer, err := w.of(example)
	if err != nil {
		panic(err) // newWorld has one
	}
	var all []T
	for _, object := range informer.GetIndexer().List() {
		all = append(all, object.(T))
	}
	return all
}

// noDevices is the dynamic resources of a cluster without any. Without a manager, kube-scheduler's plugins panic.
type noDevices struct{}

func (noDevices) ResourceClaims() fwk.ResourceClaimTracker                { return nil }
func (noDevices) ResourceSlices() fwk.ResourceSliceLister                 { return nil }
func (noDevices) DeviceClasses() fwk.DeviceClassLister                    { return nil }
func (noDevices) DeviceClassResolver() fwk.DeviceClassResolver            { return noDevices{} }
func (noDevices) GetDeviceClass(v1.ResourceName) *resourceapi.DeviceClass { return nil }
