// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package noderesourcesfit

import (
	"context"
	"testing"
	"testing/synctest"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/ptr"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/internal/devices"
	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// TestDevicesAreScored has devices serve a resource that a node does not offer, and another node offer it itself. What is
// cached of the scores does not outlive a change of the devices.
func TestDevicesAreScored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		class := objects.DeviceClass("gpus", `device.driver == "gpu.example.com"`)
		class.Spec.ExtendedResourceName = ptr.To(gpu)
		slice := objects.ResourceSlice("gpu.example.com", "shared", "0", "1", "2", "3")
		slice.Spec.NodeName, slice.Spec.AllNodes = nil, ptr.To(true)
		client := fake.NewClientset(class, slice, objects.ResourceClaim("c").With(func(claim *resourceapi.ResourceClaim) { claim.ResourceVersion = "1" }).Build())
		ctx, cancel := context.WithCancel(t.Context())
		factory := informers.NewSharedInformerFactory(client, 0)
		manager, err := devices.New(t.Context(), devices.Options{Informers: factory})
		if err != nil {
			t.Fatal(err)
		}
		factory.Start(ctx.Done())
		factory.WaitForCacheSync(ctx.Done())
		synctest.Wait()
		for name, dra := range map[string]fwk.SharedDRAManager{"own manager": manager, "another manager": struct{ fwk.SharedDRAManager }{manager}} {
			pl := newPlugin(t, strategyArgs(configv1.LeastAllocated, gpu), dra)
			without := fixture.NodeInfo(objects.Node("without").Allocatable("cpu", "4").Build())
			offers := fixture.NodeInfo(objects.Node("offers").Allocatable("cpu", "4", gpu, "10").Build())
			key := func(wantWithout int64) (key string) {
				t.Helper()
				pod, state := requests(gpu, "1"), framework.NewCycleState()
				if status := pl.PreScore(t.Context(), state, pod, nil); !status.IsSuccess() {
					t.Fatal(status.AsError())
				}
				for node, want := range map[fwk.NodeInfo]int64{without: wantWithout, offers: 90} {
					if score, status := pl.Score(t.Context(), state, pod, node); !status.IsSuccess() || score != want {
						t.Errorf("%s: %s has the score %d (%v), want %d", name, node.Node().Name, score, status, want)
					}
				}
				appended, ok := pl.AppendScoreKey(nil, state, pod)
				if ok != (dra == fwk.SharedDRAManager(manager)) {
					t.Errorf("%s: there is a key: %t", name, ok)
				}
				return string(appended)
			}
			all := key(75) // (4-1)*100/4
			allocate(t, client, "0")
			if some := key(50); some == all && dra == fwk.SharedDRAManager(manager) {
				t.Errorf("%s: the key does not change with what is allocated", name)
			}
			allocate(t, client)
		}
		cancel()
		factory.Shutdown()
		if err := manager.Close(); err != nil {
			t.Error(err)
		}
	})
}

// allocate gives devices to the claim c.
func allocate(t *testing.T, client *fake.Clientset, names ...string) {
	t.Helper()
	claims := client.ResourceV1().ResourceClaims(v1.NamespaceDefault)
	claim, err := claims.Get(t.Context(), "c", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	claim.ResourceVersion += "1"
	claim.Status.Allocation = nil
	for _, name := range names {
		claim.Status.Allocation = &resourceapi.AllocationResult{Devices: resourceapi.DeviceAllocationResult{
			Results: []resourceapi.DeviceRequestAllocationResult{{Request: "r", Driver: "gpu.example.com", Pool: "shared", Device: name}},
		}}
	}
	if _, err := claims.UpdateStatus(t.Context(), claim, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
}
