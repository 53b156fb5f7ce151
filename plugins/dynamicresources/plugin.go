// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package dynamicresources is the plugin DynamicResources: a pod goes only to nodes where the devices that its resource
// claims ask for are, or can be allocated, and is bound only when they are its own.
//
//   - Extension points: PreEnqueue, PreFilter, Filter, PostFilter, PodGroupPostFilter, Score, Reserve, PreBind, Sign.
//   - Arguments: DynamicResourcesArgs. FilterTimeout is how long the search for devices on one node may take, zero without
//     limit; BindingTimeout is how long PreBind waits for devices that have to be made ready.
//   - Wakes on: a claim of the pod is added or changes; any claim gives devices back; the claims of the pod are named in
//     its status; a device class is added or changes; a resource slice is added, changes or is deleted; a node is added, or its labels or allocatable
//     resources change.
//   - Reads: the claims of the pod, the slices and what is allocated of their pools, device classes; the labels, the name
//     and the allocatable resources of the node. Pods on the node don't matter.
//
// # From PreEnqueue to PreBind
//
// A pod is held back until all its claims exist. PreFilter sorts claims into those that have devices, which tie the pod to
// nodes, and those that are to be allocated. Filter has devices chosen on each node by the allocator of Kubernetes. Reserve
// sets those of the chosen node aside. PreBind writes the allocations to the API server, reserves all claims for the pod,
// and waits until devices are ready that have to be prepared first.
//
// # Extended resources
//
// An extended resource that a device class serves is taken from devices on nodes that don't offer it themselves. The
// scheduler makes a claim for it when the pod has its node.
//
// # What is kept
//
// With a [devices.Manager] behind the handle, the answer about a node depends on what the pod asks for, the node, and the
// pools that it sees; see AppendFilterKey. Other managers, such as that of an autoscaler, are asked for everything in
// every cycle.
package dynamicresources

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	clientset "k8s.io/client-go/kubernetes"
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/dynamic-resource-allocation/cel"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/clock"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/internal/devices"
	"github.com/rouse-scheduler/rouse/plugins/internal/pluginargs"
	"github.com/rouse-scheduler/rouse/profiles"
)

// Name is the name of the plugin in profiles.
const Name = "DynamicResources"

const (
	// reasonUnavailable is why a node is rejected where the devices of an allocated claim can't be used.
	reasonUnavailable = "resourceclaim not available on the node"
	// reasonCannotAllocate is why a node is rejected that does not have the devices.
	reasonCannotAllocate = "cannot allocate all claims"
	// reasonStaleClaim is why a node is rejected while a claim for extended resources of an earlier attempt exists.
	reasonStaleClaim = "cannot schedule extended resource claim"
	// reasonNoResource is why a node is rejected that does not offer an extended resource, nor devices for it.
	reasonNoResource = "cannot fit resource"
)

var (
	_ fwk.PreEnqueuePlugin         = &plugin{}
	_ fwk.PreFilterPlugin          = &plugin{}
	_ fwk.FilterPlugin             = &plugin{}
	_ fwk.PostFilterPlugin         = &plugin{}
	_ fwk.PodGroupPostFilterPlugin = &plugin{}
	_ fwk.ScorePlugin              = &plugin{}
	_ fwk.ReservePlugin            = &plugin{}
	_ fwk.PreBindPlugin            = &plugin{}
	_ fwk.EnqueueExtensions        = &plugin{}
	_ fwk.SignPlugin               = &plugin{}
	_ framework.HintClassPlugin    = &plugin{}
	_ framework.FilterKeyPlugin    = &plugin{}
	_ framework.ScoreKeyPlugin     = &plugin{}
)

// plugin implements DynamicResources. Nothing in it changes after New but writers; what it knows is in the manager.
type plugin struct {
	client   clientset.Interface
	recorder events.EventRecorderLogger
	metrics  Metrics
	profile  string
	clock    clock.PassiveClock
	wait     func(ctx context.Context, duration time.Duration, early <-chan struct{}) error // see framework.ExtendedHandle.Wait

	// claims and the rest are nil if the handle has no manager, and manager is nil if it is another one.
	claims      fwk.ResourceClaimTracker
	slices      fwk.ResourceSliceLister
	classes     fwk.DeviceClassLister
	resolver    fwk.DeviceClassResolver
	manager     *devices.Manager
	switches    devices.Switches
	expressions *cel.Cache

	// pods are those of the informer, see byClaim; nil without informers.
	pods     clientcache.Indexer
	snapshot fwk.SharedLister
	writers  claimWriters
	// start starts a task that outlives the cycle.
	start func(task func())

	filterTimeout, bindingTimeout time.Duration
	noClaims                      *podState
	// skip and skipPreBind are what pods without claims get; they don't change.
	skip        *fwk.Status
	skipPreBind *fwk.PreBindPreFlightResult
	// cannotAllocate is why nodes are rejected that do not have the devices.
	cannotAllocate *fwk.Status
}

// New builds the plugin from *configv1.DynamicResourcesArgs, where nil means all defaults. Without a manager of devices in
// the handle, pods that have claims are rejected.
func New(_ context.Context, object apiruntime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	args, err := pluginargs.Of[configv1.DynamicResourcesArgs](Name, object)
	if err != nil {
		return nil, err
	}
	if err := profiles.ValidateArgs(Name, nil, args).ToAggregate(); err != nil {
		return nil, err
	}
	pl := &plugin{
		metrics: metricsOf(handle), clock: clock.RealClock{}, wait: framework.WaitOn(clock.RealClock{}),
		noClaims: &podState{}, cannotAllocate: rejected(reasonCannotAllocate),
		skip: fwk.NewStatus(fwk.Skip).WithPlugin(Name), skipPreBind: &fwk.PreBindPreFlightResult{AllowParallel: true},
	}
	if args.FilterTimeout != nil {
		pl.filterTimeout = args.FilterTimeout.Duration
	}
	pl.bindingTimeout = configv1.DynamicResourcesBindingTimeoutDefault
	if args.BindingTimeout != nil {
		pl.bindingTimeout = args.BindingTimeout.Duration
	}
	if handle == nil || handle.SharedDRAManager() == nil {
		return pl, nil
	}
	pl.client, pl.recorder = handle.ClientSet(), handle.EventRecorder()
	pl.profile = handle.ProfileName()
	pl.snapshot, pl.start = handle.SnapshotSharedLister(), func(task func()) { go task() }
	if extended, ok := handle.(framework.ExtendedHandle); ok {
		pl.start = extended.Go
		pl.clock, pl.wait = extended.Clock(), extended.Wait
	}
	manager := handle.SharedDRAManager()
	pl.claims, pl.slices, pl.classes = manager.ResourceClaims(), manager.ResourceSlices(), manager.DeviceClasses()
	pl.resolver = manager.DeviceClassResolver()
	if own, ok := manager.(*devices.Manager); ok {
		pl.manager, pl.switches, pl.expressions = own, own.Switches(), own.Expressions()
	} else {
		pl.expressions = pl.switches.NewExpressions()
	}
	if pl.switches.NoFilterTimeout {
		pl.filterTimeout = 0
	}
	if factory := handle.SharedInformerFactory(); factory != nil {
		pl.pods, err = indexPods(factory.Core().V1().Pods().Informer())
	}
	return pl, err
}

// Name implements fwk.Plugin.
func (pl *plugin) Name() string { return Name }

// rejected is a status for good: no preemption helps.
func rejected(reason string) *fwk.Status {
	return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, reason)
}

func describe(claim *resourceapi.ResourceClaim) string { return claim.Namespace + "/" + claim.Name }

// errNoManager is why pods with claims are rejected where there is no device manager.
func errNoManager(pod *v1.Pod) error {
	return fmt.Errorf("pod %s/%s has resource claims, but the framework has no manager of devices: "+
		"set its option DRAManager to one made with devices.New", pod.Namespace, pod.Name)
}
