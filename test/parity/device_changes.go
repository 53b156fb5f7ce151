// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	configv1 "k8s.io/kube-scheduler/config/v1"
	"k8s.io/utils/ptr"
)

// This file makes what happens to devices and claims while pods come.

const (
	dynamicResources = "DynamicResources"
	// devicePods is how many pods are tried in a cluster with devices.
	devicePods = 40
)

// deviceHistory returns a cluster with devices, and pods that come one after the other while claims, slices, classes and
// rules change.
func (g *generator) deviceHistory() history {
	h := history{trial: trial{
		cluster: g.deviceCluster(1+g.IntN(4), devicePods), profile: all([]configv1.Plugin{{Name: dynamicResources}, {Name: "NodeResourcesFit"}}), label: "devices",
	}}
	h.args[dynamicResources].(*configv1.DynamicResourcesArgs).BindingTimeout = &metav1.Duration{Duration: 12 * time.Second}
	for i := range devicePods {
		for range g.IntN(2) {
			var s step
			s.Object, s.Removed = g.deviceHappening(h.cluster, i)
			if object, err := meta.Accessor(s.Object); err == nil {
				object.SetResourceVersion(fmt.Sprint(len(h.steps) + 2))
			}
			h.steps = append(h.steps, s)
		}
		h.steps = append(h.steps, step{Object: g.podWithClaims(fmt.Sprintf("pod-%d", i))})
	}
	return h
}

// deviceHappening returns an object that comes, changes or goes. Of the pods so many have come already.
func (g *generator) deviceHappening(c cluster, pods int) (object apiruntime.Object, removed bool) {
	switch g.IntN(8) {
	case 0:
		return pick(g, g.deviceClasses()...), g.odd(4)
	case 1:
		return g.taintRule(g.IntN(2)), g.plenty || g.oneIn(2)
	case 2, 3:
		return g.changedSlice(c), g.odd(5)
	}
	claim := g.claimOf(c, pick(g, fmt.Sprintf("claim-%d", g.IntN(4)), fmt.Sprintf("pod-%d-%d", g.IntN(pods+1), g.IntN(2))))
	return claim, g.oneIn(6)
}

// changedSlice returns a slice of the cluster with fewer or other devices, in the same generation or a later one.
func (g *generator) changedSlice(c cluster) *resourceapi.ResourceSlice {
	var slices []*resourceapi.ResourceSlice
	for _, object := range c.objects {
		if slice, ok := object.(*resourceapi.ResourceSlice); ok {
			slices = append(slices, slice)
		}
	}
	if len(slices) == 0 { // of one pool, so that its slices agree about their number
		slices = append(slices, &resourceapi.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "net-all"}, Spec: resourceapi.ResourceSliceSpec{
			Driver: nicDriver, AllNodes: ptr.To(true), Pool: resourceapi.ResourcePool{Name: "net-all", Generation: 1, ResourceSliceCount: 1},
			Devices: g.devices("net", 3),
		}})
	}
	slice := pick(g, slices...).DeepCopy()
	devices := slice.Spec.Devices
	switch g.IntN(4) {
	case 0:
		slice.Spec.Pool.Generation += 4 // which no other slice of the pool has
	case 1:
		if len(devices) > 1 {
			slice.Spec.Devices = devices[:len(devices)-1]
		}
	case 2:
		if len(devices) > 0 {
			devices[g.IntN(len(devices))].Taints = []resourceapi.DeviceTaint{g.deviceTaint()}
		}
	}
	return slice
}

// claimOf returns a claim of the cluster as it is after a controller, a driver or another scheduler has changed it.
func (g *generator) claimOf(c cluster, name string) *resourceapi.ResourceClaim {
	for _, object := range c.objects {
		claim, ok := object.(*resourceapi.ResourceClaim)
		if !ok || claim.Name != name {
			continue
		}
		changed := claim.DeepCopy()
		changed.DeletionTimestamp, changed.Finalizers, changed.Status = nil, nil, resourceapi.ResourceClaimStatus{}
		if g.oneIn(3) {
			g.allocateSome(changed, c)
		}
		return changed
	}
	return g.deviceClaim(name, "", c)
}

// podsOf returns the pods of a history.
func podsOf(h history) []*v1.Pod {
	var pods []*v1.Pod
	for _, step := range h.steps {
		if pod, ok := step.Object.(*v1.Pod); ok {
			pods = append(pods, pod)
		}
	}
	return pods
}
