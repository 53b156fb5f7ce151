// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/resourceclaim"
	"k8s.io/kubernetes/pkg/features"
)

// claimWorkers is how many claims the controller of claims works on at a time.
const claimWorkers = 10

// startClaimController starts the controller of resource claims, which makes claims from templates, and takes them back from
// pods that are gone.
func (r *run) startClaimController(ctx context.Context) error {
	factory := informers.NewSharedInformerFactory(r.client, 0)
	controller, err := resourceclaim.NewController(klog.FromContext(ctx), r.client, factory.Core().V1().Pods(),
		factory.Scheduling().V1beta1().PodGroups(), factory.Resource().V1().ResourceClaims(), factory.Resource().V1().ResourceClaimTemplates())
	if err != nil {
		return fmt.Errorf("starting the controller of resource claims: %w", err)
	}
	factory.Start(ctx.Done())
	// The controller asks every 100 ms whether it knows all objects, so that at first a claim would come late.
	for kind, known := range factory.WaitForCacheSync(ctx.Done()) {
		if !known {
			return fmt.Errorf("starting the controller of resource claims: listing %v: %w", kind, context.Cause(ctx))
		}
	}
	r.inBackground(ctx, func(ctx context.Context) error {
		controller.Run(ctx, claimWorkers)
		return nil
	})
	return nil
}

// allocResourceClaims allocates the claims of a namespace, each on the next node that has devices for it.
type allocResourceClaims struct {
	opcode
	Namespace string `json:"namespace"`
}

func (o *allocResourceClaims) prepare(place) (step, error) {
	return step{name: o.Opcode, do: func(ctx context.Context, r *run) error {
		claims, err := r.client.ResourceV1().ResourceClaims(o.Namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return fmt.Errorf("listing the claims in %s: %w", o.Namespace, err)
		}
		all, err := r.newAllocation(ctx)
		if err != nil {
			return err
		}
		for i := range claims.Items {
			if err := all.allocate(ctx, &claims.Items[i]); err != nil {
				return fmt.Errorf("allocating claim %s: %w", claims.Items[i].Name, err)
			}
			r.progress.now("allocated %d of %d claims", i+1, len(claims.Items))
		}
		return inParallel(ctx, len(claims.Items), func(i int) error {
			claim := &claims.Items[i]
			if _, err := r.client.ResourceV1().ResourceClaims(o.Namespace).UpdateStatus(ctx, claim, metav1.UpdateOptions{}); err != nil {
				return fmt.Errorf("updating the status of claim %s: %w", claim.Name, err)
			}
			return nil
		})
	}}, nil
}

// allocation knows which devices are allocated. Devices belong to one node each.
type allocation struct {
	classes     deviceClasses
	nodes       []*nodeDevices
	next        int
	expressions *cel.Cache
}

type nodeDevices struct {
	node      *v1.Node
	slices    []*resourceapi.ResourceSlice
	allocated sets.Set[structured.DeviceID]
}

func (r *run) newAllocation(ctx context.Context) (*allocation, error) {
	nodes, errNodes := r.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	announced, errSlices := r.client.ResourceV1().ResourceSlices().List(ctx, metav1.ListOptions{})
	classes, errClasses := r.client.ResourceV1().DeviceClasses().List(ctx, metav1.ListOptions{})
	if err := errors.Join(errNodes, errSlices, errClasses); err != nil {
		return nil, fmt.Errorf("listing devices: %w", err)
	}
	a := &allocation{classes: deviceClasses{}, expressions: cel.NewCache(10, cel.Features{})}
	for i := range classes.Items {
		a.classes[classes.Items[i].Name] = &classes.Items[i]
	}
	ofNode := map[string][]*resourceapi.ResourceSlice{}
	for i := range announced.Items {
		if slice := &announced.Items[i]; slice.Spec.NodeName != nil {
			ofNode[*slice.Spec.NodeName] = append(ofNode[*slice.Spec.NodeName], slice)
		}
	}
	for i := range nodes.Items {
		if node := &nodes.Items[i]; len(ofNode[node.Name]) > 0 {
			a.nodes = append(a.nodes, &nodeDevices{node: node, slices: ofNode[node.Name], allocated: sets.New[structured.DeviceID]()})
		}
	}
	return a, nil
}

// allocate sets the allocation in the status of a claim.
func (a *allocation) allocate(ctx context.Context, claim *resourceapi.ResourceClaim) error {
	for range a.nodes {
		on := a.nodes[a.next%len(a.nodes)]
		a.next++
		state := structured.AllocatedState{AllocatedDevices: on.allocated, AggregatedCapacity: structured.NewConsumedCapacityCollection()}
		allocator, err := structured.NewAllocator(ctx, allocatorFeatures(), state, a.classes, on.slices, a.expressions)
		if err != nil {
			return err
		}
		results, err := allocator.Allocate(ctx, on.node, []*resourceapi.ResourceClaim{claim})
		if err != nil && !errors.Is(err, structured.ErrFailedAllocationOnNode) {
			return err
		}
		if len(results) != 1 {
			continue
		}
		claim.Status.Allocation = &results[0]
		for _, device := range results[0].Devices.Results {
			on.allocated.Insert(structured.MakeDeviceID(device.Driver, device.Pool, device.Device))
		}
		return nil
	}
	return errors.New("no node has devices left")
}

// allocatorFeatures are those of the API server.
func allocatorFeatures() structured.Features {
	enabled := utilfeature.DefaultFeatureGate.Enabled
	return structured.Features{
		AdminAccess:          enabled(features.DRAAdminAccess),
		CompatibilityGroups:  enabled(features.DRADeviceCompatibilityGroups),
		ConsumableCapacity:   enabled(features.DRAConsumableCapacity),
		DeviceTaints:         enabled(features.DRADeviceTaints),
		ListTypeAttributes:   enabled(features.DRAListTypeAttributes),
		PartitionableDevices: enabled(features.DRAPartitionableDevices),
		PrioritizedList:      enabled(features.DRAPrioritizedList),
	}
}

// deviceClasses are the classes by name.
type deviceClasses map[string]*resourceapi.DeviceClass

// List implements structured.DeviceClassLister.
func (c deviceClasses) List() ([]*resourceapi.DeviceClass, error) {
	var all []*resourceapi.DeviceClass
	for _, class := range c {
		all = append(all, class)
	}
	slices.SortFunc(all, func(a, b *resourceapi.DeviceClass) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}

// Get implements structured.DeviceClassLister.
func (c deviceClasses) Get(name string) (*resourceapi.DeviceClass, error) {
	if class := c[name]; class != nil {
		return class, nil
	}
	return nil, apierrors.NewNotFound(resourceapi.Resource("deviceclasses"), name)
}
