// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/ptr"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins"
	"github.com/rouse-scheduler/rouse/plugins/dynamicresources"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/simulate"
)

const gpuDriver = "gpu.example.com"

// scarce is a cluster with fewer devices than its pods want.
type scarce struct {
	*simulate.Cluster
	t       *testing.T
	random  *rand.Rand
	devices int
	pods    map[string]bool
	made    int
}

func gpuSlice(name string, devices int, place func(*resourceapi.ResourceSliceSpec)) *resourceapi.ResourceSlice {
	slice := &resourceapi.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: name}}
	slice.Spec.Driver, slice.Spec.Pool = gpuDriver, resourceapi.ResourcePool{Name: name, Generation: 1, ResourceSliceCount: 1}
	for i := range devices {
		slice.Spec.Devices = append(slice.Spec.Devices, resourceapi.Device{Name: fmt.Sprintf("gpu-%d", i)})
	}
	place(&slice.Spec)
	return slice
}

func gpuClassAndTemplate() []apiruntime.Object {
	class := objects.DeviceClass("gpu", `device.driver == "`+gpuDriver+`"`)
	class.Spec.ExtendedResourceName = ptr.To("example.com/gpu")
	template := &resourceapi.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Name: "gpu", Namespace: "default"}}
	template.Spec.Spec.Devices.Requests = []resourceapi.DeviceRequest{{Name: "gpu", Exactly: &resourceapi.ExactDeviceRequest{DeviceClassName: "gpu"}}}
	return []apiruntime.Object{class, template}
}

func newScarce(t *testing.T, seed uint64) *scarce {
	t.Helper()
	cluster, err := simulate.NewCluster(t.Context(), simulate.Options{Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	s := &scarce{Cluster: cluster, t: t, random: rand.New(rand.NewPCG(seed, 7)), pods: map[string]bool{}}
	s.do(cluster.Create(gpuClassAndTemplate()...))
	for i := range 6 {
		node := objects.Node(fmt.Sprintf("n%d", i)).Build()
		devices := 1 + s.random.IntN(3)
		s.devices += devices
		s.do(cluster.Create(node, gpuSlice(node.Name, devices, func(spec *resourceapi.ResourceSliceSpec) { spec.NodeName = &node.Name })))
	}
	if seed%2 == 0 {
		s.devices += 3
		s.do(cluster.Create(gpuSlice("net", 3, func(spec *resourceapi.ResourceSliceSpec) { spec.AllNodes = ptr.To(true) })))
	}
	return s
}

func (s *scarce) do(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// add makes a pod that wants one device, in one of three ways.
func (s *scarce) add() {
	s.made++
	pod := objects.Pod(fmt.Sprintf("p%d", s.made)).Build()
	switch s.random.IntN(3) {
	case 0:
		pod.Spec.Containers[0].Resources.Requests = objects.Resources("example.com/gpu", "1")
	case 1:
		pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "gpu", ResourceClaimName: &pod.Name}}
		s.do(s.Create(objects.ResourceClaim(pod.Name).Request("gpu", "gpu", 1).Build()))
	default:
		pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: ptr.To("gpu")}}
	}
	s.do(s.Create(pod))
	s.pods[pod.Name] = true
}

func (s *scarce) check(step int) {
	s.t.Helper()
	claims, err := s.Client().ResourceV1().ResourceClaims("").List(s.t.Context(), metav1.ListOptions{})
	s.do(err)
	taken := map[string]string{}
	for i := range claims.Items {
		claim := &claims.Items[i]
		if claim.Status.Allocation == nil {
			continue
		}
		if len(claim.Status.ReservedFor) != 1 || !s.pods[claim.Status.ReservedFor[0].Name] {
			s.t.Fatalf("step %d: claim %s has devices and is reserved for %v", step, claim.Name, claim.Status.ReservedFor)
		}
		for _, result := range claim.Status.Allocation.Devices.Results {
			device := result.Pool + "/" + result.Device
			if taken[device] != "" {
				s.t.Fatalf("step %d: device %s is in %s and %s", step, device, taken[device], claim.Name)
			}
			taken[device] = claim.Name
		}
	}
	bound := 0
	for name := range s.pods {
		if state, ok := s.Pod("default", name); ok && state.Pool == simulate.PoolBound {
			bound++
		}
	}
	if want := min(len(s.pods), s.devices); bound != want || len(taken) != want {
		s.t.Fatalf("step %d: %d pods want devices, of which there are %d; %d pods have a node and %d devices are taken", step, len(s.pods), s.devices, bound, len(taken))
	}
}

// TestScarceDevices adds and deletes pods that want devices, more than there are. Every device is in use once, and no pod
// waits while one is free: what is remembered of nodes never hides a device.
func TestScarceDevices(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			s := newScarce(t, seed)
			for step := range 60 {
				for range s.random.IntN(6) {
					s.add()
				}
				for _, name := range slices.Sorted(maps.Keys(s.pods)) {
					if s.random.IntN(5) == 0 {
						s.do(s.Delete(objects.Pod(name).Build()))
						delete(s.pods, name)
					}
				}
				s.do(s.Settle())
				s.check(step)
			}
		})
	}
}

// counted counts the nodes that the plugin is asked about.
type counted struct {
	devicePlugin
	asked *int
}

// devicePlugin is what the runtime asks DynamicResources for.
type devicePlugin interface {
	framework.FilterKeyPlugin
	framework.ScoreKeyPlugin
	framework.HintClassPlugin
	fwk.PreEnqueuePlugin
	fwk.EnqueueExtensions
	fwk.PreFilterPlugin
	fwk.PostFilterPlugin
	fwk.ReservePlugin
	fwk.PreBindPlugin
	fwk.SignPlugin
}

func (c counted) Filter(ctx context.Context, state fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo) *fwk.Status {
	*c.asked++
	return c.devicePlugin.Filter(ctx, state, pod, node)
}

// TestDevicesAreLookedForOnFewNodes has pods take all devices of a cluster, one after the other. Once what the claims ask
// for has come before, the plugin is asked about the nodes that changed, and not about all of them, whether few devices
// are allocated or nearly all: that happens when verdicts are cached for the first time, and no more.
func TestDevicesAreLookedForOnFewNodes(t *testing.T) {
	const nodes, devices = 100, 4
	asked, everywhere := 0, 0
	registry := plugins.NewInTreeRegistry()
	registry[dynamicresources.Name] = func(ctx context.Context, args apiruntime.Object, handle fwk.Handle) (fwk.Plugin, error) {
		plugin, err := dynamicresources.New(ctx, args, handle)
		if err != nil {
			return nil, err
		}
		return counted{plugin.(devicePlugin), &asked}, nil
	}
	cluster, err := simulate.NewCluster(t.Context(), simulate.Options{Registry: registry})
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	s := &scarce{Cluster: cluster, t: t}
	s.do(cluster.Create(gpuClassAndTemplate()...))
	for i := range nodes {
		name := fmt.Sprintf("n%d", i)
		s.do(cluster.Create(objects.Node(name).Build(), gpuSlice(name, devices, func(spec *resourceapi.ResourceSliceSpec) { spec.NodeName = &name })))
	}
	for i := range nodes * devices {
		asked = 0
		pod := objects.Pod(fmt.Sprintf("p%d", i)).Build()
		pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: ptr.To("gpu")}}
		s.do(cluster.Create(pod))
		s.do(cluster.Settle())
		if state, _ := cluster.Pod("default", pod.Name); state.Pool != simulate.PoolBound {
			t.Fatalf("pod %d is %s", i, state.Pool)
		}
		if asked > 2 {
			everywhere++
		}
	}
	if everywhere > 4 {
		t.Errorf("for %d of %d pods the plugin was asked about more than the nodes that changed", everywhere, nodes*devices)
	}
}
