// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"context"
	"testing"
	"testing/synctest"

	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/ptr"
)

// sliceWith returns a slice of node n1 with one device.
func sliceWith(device string) *resourceapi.ResourceSlice {
	return &resourceapi.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{Name: "s"},
		Spec: resourceapi.ResourceSliceSpec{
			Driver: "d", Pool: resourceapi.ResourcePool{Name: "n1", ResourceSliceCount: 1}, NodeName: ptr.To("n1"),
			Devices: []resourceapi.Device{{Name: device}},
		},
	}
}

// Events that overtake each other, as those of slices and of taint rules may, leave the slice as the tracker has it.
func TestEventsOfSlicesOvertakeEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		client := fake.NewClientset(sliceWith("latest"))
		factory := informers.NewSharedInformerFactory(client, 0)
		m, err := New(ctx, Options{Informers: factory})
		if err != nil {
			t.Fatal(err)
		}
		factory.Start(ctx.Done())
		factory.WaitForCacheSync(t.Context().Done())
		synctest.Wait()
		handler, first, second := m.sliceHandler(), sliceWith("first"), sliceWith("second")
		check := func(when string) {
			t.Helper()
			p := m.pools[poolID{"d", "n1"}]
			if p == nil || len(p.slices) != 1 || p.slices["s"].Spec.Devices[0].Name != "latest" {
				t.Errorf("%s: the pool is %+v, want the slice of the tracker", when, p)
			}
		}
		check("at first")
		handler.OnUpdate(first, second)
		check("after an update that is over")
		handler.OnDelete(second)
		check("after a deletion that is over")
		handler.OnAdd(first, false)
		check("after an addition that is over")
		if err := client.ResourceV1().ResourceSlices().Delete(t.Context(), "s", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		handler.OnUpdate(second, first)
		if len(m.pools) != 0 || len(m.knownSlices) != 0 {
			t.Errorf("after the end: pools %v, slices %v, want none", m.pools, m.knownSlices)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
		cancel()
		factory.Shutdown()
	})
}
