// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
)

// deviceSelector is a CEL expression with what it means, so that selectors can be checked without evaluating CEL.
type deviceSelector struct {
	expression string
	// matches is given the driver and a device. It is false where the expression fails.
	matches func(driver string, d *resourceapi.Device) bool
}

// deviceSelectors are those that classes and requests have. Some of them fail for devices that lack something.
func deviceSelectors() map[string]deviceSelector {
	gpu := `device.attributes["` + gpuDriver + `"]`
	memory := `device.capacity["` + gpuDriver + `"].memory`
	return map[string]deviceSelector{
		"gpu": {`device.driver == "` + gpuDriver + `"`, func(driver string, _ *resourceapi.Device) bool { return driver == gpuDriver }},
		"nic": {`device.driver == "` + nicDriver + `"`, func(driver string, _ *resourceapi.Device) bool { return driver == nicDriver }},
		"large, or fails": {memory + `.compareTo(quantity("30Gi")) >= 0`, func(driver string, d *resourceapi.Device) bool {
			value := memoryOf(driver, d)
			return value != nil && value.Cmp(resource.MustParse("30Gi")) >= 0
		}},
		"has memory":        {`has(` + memory + `)`, func(driver string, d *resourceapi.Device) bool { return memoryOf(driver, d) != nil }},
		"model a":           {gpu + `.?model.orValue("") == "a"`, isModelA},
		"model a, or fails": {gpu + `.model == "a"`, isModelA},
		"new firmware": {
			gpu + `.?firmware.hasValue() && ` + gpu + `.firmware.isGreaterThan(semver("1.9.0"))`,
			func(driver string, d *resourceapi.Device) bool {
				return driver == gpuDriver && ptr.Deref(d.Attributes["firmware"].VersionValue, "") == "1.10.0"
			},
		},
		"near": {`device.attributes["example.com"].?numa.orValue(1) == 0`, func(_ string, d *resourceapi.Device) bool {
			return ptr.Deref(d.Attributes["example.com/numa"].IntValue, 1) == 0
		}},
		"for many": {`device.allowMultipleAllocations == true`, func(_ string, d *resourceapi.Device) bool {
			return ptr.Deref(d.AllowMultipleAllocations, false)
		}},
		"broken": {`device.`, func(string, *resourceapi.Device) bool { return false }},
	}
}

func memoryOf(driver string, d *resourceapi.Device) *resource.Quantity {
	if capacity, ok := d.Capacity["memory"]; ok && driver == gpuDriver {
		return &capacity.Value
	}
	return nil
}

func isModelA(driver string, d *resourceapi.Device) bool {
	return driver == gpuDriver && ptr.Deref(d.Attributes["model"].StringValue, "") == "a"
}

// selectors returns the selectors of the names.
func selectors(names ...string) []resourceapi.DeviceSelector {
	var list []resourceapi.DeviceSelector
	for _, name := range names {
		list = append(list, resourceapi.DeviceSelector{CEL: &resourceapi.CELDeviceSelector{Expression: deviceSelectors()[name].expression}})
	}
	return list
}

// selected reports whether all selectors match a device.
func selected(list []resourceapi.DeviceSelector, driver string, d *resourceapi.Device) bool {
	for _, selector := range list {
		matched := false
		for _, known := range deviceSelectors() {
			matched = matched || known.expression == selector.CEL.Expression && known.matches(driver, d)
		}
		if !matched {
			return false
		}
	}
	return true
}
