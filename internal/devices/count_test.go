// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// TestCountsByClass counts devices where selectors match, don't match, and fail.
func TestCountsByClass(t *testing.T) {
	m := newManager(t, nil)
	slice := zoned("p", "east")
	slice.Spec.NodeSelector, slice.Spec.PerDeviceNodeSelection = nil, ptr.To(true)
	model := func(name string) map[resourceapi.QualifiedName]resourceapi.DeviceAttribute {
		return map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{"model": {StringValue: &name}}
	}
	slice.Spec.Devices = []resourceapi.Device{
		{Name: "a", NodeSelector: inZone("east"), Attributes: model("a")},
		{Name: "b", AllNodes: ptr.To(true), Attributes: model("b")},
		{Name: "none", NodeSelector: inZone("west")},
	}
	m.sliceChanged(nil, slice)
	allocated := claim("c", 1, "a")
	allocated.Status.Allocation.Devices.Results[0].Pool = "p"
	m.claimStored(allocated)
	east, west := nodeIn("n1", "east"), nodeIn("n2", "west")
	for _, test := range []struct {
		name, selector string
		east, west     Count
		failsInWest    bool
	}{
		{name: "any", selector: `device.driver == "d"`, east: Count{2, 1}, west: Count{2, 0}},
		{name: "model a", selector: `device.attributes["d"].?model.orValue("") == "a"`, east: Count{1, 1}},
		{name: "model a, fails without a model", selector: `device.attributes["d"].model == "a"`, east: Count{1, 1}, failsInWest: true},
		{name: "no other driver", selector: `device.driver == "e"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			class := objects.DeviceClass(test.name, test.selector)
			for range 2 { // the second time from what is kept
				if got, err := m.Count(t.Context(), east, class); err != nil || got != test.east {
					t.Errorf("in the east there are %v (%v), want %v", got, err, test.east)
				}
				got, err := m.Count(t.Context(), west, class)
				if got != test.west || (err != nil) != test.failsInWest {
					t.Errorf("in the west there are %v (%v), want %v", got, err, test.west)
				}
			}
		})
	}
	class := &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "broken"}}
	class.Spec.Selectors = []resourceapi.DeviceSelector{{CEL: &resourceapi.CELDeviceSelector{Expression: "device."}}}
	if _, err := m.Count(t.Context(), east, class); err == nil {
		t.Error("no error for a selector that can't be compiled")
	}
}
