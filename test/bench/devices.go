// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/test/bench/objects"
)

// A row of devices makes decisions, as those in decisions.go, about pods that ask for devices. A few pods are there at a
// time: before the next one is placed, the oldest ends and gives its devices back, so that what is allocated stays the same.

// deviceCase is a row of devices, for every number of nodes.
type deviceCase struct {
	shape objects.DeviceShape
	use   use
	quick bool
	// noTarget is set where no ratio is wanted.
	noTarget bool
}

// use is how many of the devices are allocated before.
type use string

const (
	empty use = "empty"
	half  use = "half"
	full  use = "full" // but for as many devices as pods need that are there at a time
)

// podsAtATime is how many pods have devices while the next is placed.
const podsAtATime = 10

func (c *deviceCase) name() string { return fmt.Sprintf("%s, %s", c.shape, c.use) }

func deviceCases() []deviceCase {
	cases := []deviceCase{
		{shape: objects.OneDevice, use: empty},
		{shape: objects.OneDevice, use: half},
		{shape: objects.OneDevice, use: full, quick: true},
	}
	for _, s := range []objects.DeviceShape{
		objects.Selectors, objects.MatchAttribute, objects.Extended25, objects.Extended50,
		objects.Partitions, objects.Consumable, objects.Prioritised,
	} {
		cases = append(cases, deviceCase{shape: s, use: empty, quick: s == objects.Extended25})
	}
	return append(cases, deviceCase{shape: objects.Network, use: half, noTarget: true})
}

func deviceGroups() []group {
	var groups []group
	for _, c := range deviceCases() {
		for _, nodes := range []int{500, 5_000} {
			groups = append(groups, group{work: []work{c.work(nodes)}})
		}
	}
	return groups
}

func (c *deviceCase) work(nodes int) work {
	run := func(build newDeviceDecider) func(context.Context, *meter) (Sample, error) {
		return func(ctx context.Context, m *meter) (Sample, error) {
			cluster := c.cluster(nodes, warmUpPods+decisionsPerRun*m.times())
			d, err := build(ctx, cluster)
			if err != nil {
				return nil, err
			}
			defer d.close()
			return cluster.measure(ctx, m, d)
		}
	}
	w := work{
		Row: Row{Workload: "devices", Case: c.name(), Size: nodes, Unit: "nodes", Metric: WallNanos, Target: 5},
		runs: map[Contender]func(context.Context, *meter) (Sample, error){
			Rouse: run(newRouseForDevices), KubeScheduler: run(newKubeSchedulerForDevices),
		},
		quick: c.quick,
	}
	if c.noTarget {
		w.Target = 0
	}
	return w
}

// deviceCluster is what there is before the first decision.
type deviceCluster struct {
	nodes   []*v1.Node
	slices  []*resourceapi.ResourceSlice
	classes []*resourceapi.DeviceClass
	// claims are those of the pods that are to be placed, in front of those that have devices.
	claims []*resourceapi.ResourceClaim
	pods   []*v1.Pod
}

func (c *deviceCase) cluster(nodes, pods int) *deviceCluster {
	made := &deviceCluster{
		nodes: objects.Nodes(nodes, basic), slices: objects.ResourceSlices(nodes, c.shape), classes: objects.DeviceClasses(c.shape),
	}
	if c.shape.ExtendedClasses() > 0 { // the pods stay
		pods = min(pods, nodes*objects.DevicesPerNode*9/10)
	}
	for i := range pods {
		pod, claim := objects.PodForDevices(i, c.shape)
		made.pods = append(made.pods, pod)
		if claim != nil {
			made.claims = append(made.claims, claim)
		}
	}
	devices := 0
	for _, slice := range made.slices {
		devices += len(slice.Spec.Devices)
	}
	// Every so many-th device is free.
	every := map[use]int{empty: 1, half: 2, full: devices / podsAtATime}[c.use]
	device := 0
	for _, slice := range made.slices {
		for i := range slice.Spec.Devices {
			if device++; device%every != 0 {
				made.claims = append(made.claims, objects.AllocatedClaim(device, slice, &slice.Spec.Devices[i]))
			}
		}
	}
	return made
}

// deviceDecider is a decider that knows of devices.
type deviceDecider interface {
	decider
	// handle is that of the plugins.
	handle() fwk.Handle
	// end removes a pod that was placed, and gives back the devices of its claim.
	end(pod *v1.Pod, claim types.UID) error
}

type newDeviceDecider func(context.Context, *deviceCluster) (deviceDecider, error)

// measure places the pods one after the other, and has each end when ten others have been placed. Extended resources have
// claims that only binding would write; their pods stay.
func (c *deviceCluster) measure(ctx context.Context, m *meter, d deviceDecider) (Sample, error) {
	if err := d.addNodes(c.nodes); err != nil {
		return nil, fmt.Errorf("adding nodes: %w", err)
	}
	for _, pod := range c.pods {
		d.enqueue(ctx, pod)
	}
	decided := 0
	decide := func() error {
		if oldest := decided - podsAtATime; oldest >= 0 && len(c.pods[oldest].Spec.ResourceClaims) > 0 {
			if err := d.end(c.pods[oldest], c.claims[oldest].UID); err != nil {
				return fmt.Errorf("ending pod %s: %w", c.pods[oldest].Name, err)
			}
		}
		decided++
		return d.decide(ctx)
	}
	return measureEach(m, warmUpPods, len(c.pods), decide)
}

// informers has a factory deliver the objects, and returns what tells the handlers of them.
func (c *deviceCluster) informers(factory informers.SharedInformerFactory) (deliver func() error) {
	claims, slices := newWatched(&resourceapi.ResourceClaim{}), newWatched(&resourceapi.ResourceSlice{})
	classes := newWatched(&resourceapi.DeviceClass{})
	factory.InformerFor(&resourceapi.ResourceClaim{}, claims.instead)
	factory.InformerFor(&resourceapi.ResourceSlice{}, slices.instead)
	factory.InformerFor(&resourceapi.DeviceClass{}, classes.instead)
	return func() error {
		return errors.Join(addAll(classes, c.classes), addAll(slices, c.slices), addAll(claims, c.claims))
	}
}

func newRouseForDevices(ctx context.Context, cluster *deviceCluster) (deviceDecider, error) {
	return newRouseFor(ctx, cluster)
}

func newKubeSchedulerForDevices(ctx context.Context, cluster *deviceCluster) (deviceDecider, error) {
	return newKubeSchedulerFor(ctx, cluster)
}

func (d *rouseDecider) handle() fwk.Handle { return d.Profiles()[v1.DefaultSchedulerName] }

func (d *rouseDecider) end(pod *v1.Pod, claim types.UID) error {
	giveBack(d.handle(), claim)
	return d.Cache().RemovePod(pod)
}

func (d *kubeSchedulerDecider) handle() fwk.Handle { return d.Profiles[v1.DefaultSchedulerName] }

func (d *kubeSchedulerDecider) end(pod *v1.Pod, claim types.UID) error {
	giveBack(d.handle(), claim)
	cached, err := d.Cache.GetPod(pod)
	if err != nil {
		return err
	}
	return d.Cache.ForgetPod(d.logger, cached)
}

// giveBack ends the allocation of a claim that was reserved and not written.
func giveBack(handle fwk.Handle, claim types.UID) {
	handle.SharedDRAManager().ResourceClaims().MaybeRemoveClaimPendingAllocation(claim, true)
}
