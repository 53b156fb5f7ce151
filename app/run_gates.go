// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"github.com/rouse-scheduler/rouse/app/internal/features"
	"github.com/rouse-scheduler/rouse/plugins/defaultpreemption"
	"github.com/rouse-scheduler/rouse/plugins/nodevolumelimits"
	"github.com/rouse-scheduler/rouse/plugins/volumebinding"
	"github.com/rouse-scheduler/rouse/scheduler"
)

// applyGates switches in a scheduler what feature gates say, except those that concern the process.
func applyGates(gates *features.Gates, options *scheduler.Options) {
	options.Features.DisablePopFromBackoff = !gates.Enabled(features.SchedulerPopFromBackoffQ)
	options.Features.DisableNominatedNodeName = !gates.Enabled(features.NominatedNodeNameForExpectation)
	if !gates.Enabled(features.SchedulerAsyncPreemption) {
		options.Registry[defaultpreemption.Name] = defaultpreemption.NewSynchronous
	}
	if !gates.Enabled(features.StorageCapacityScoring) {
		options.Registry[volumebinding.Name] = volumebinding.NewWithoutScoring
	}
	if !gates.Enabled(features.VolumeLimitScaling) {
		options.Registry[nodevolumelimits.Name] = nodevolumelimits.NewWithMissingDrivers
	}
	options.Features.Devices = deviceFeatures(gates)
}

// deviceFeatures is what gates say about dynamic resource allocation.
func deviceFeatures(gates *features.Gates) scheduler.DeviceFeatures {
	return scheduler.DeviceFeatures{
		NoTaints:             !gates.Enabled(features.DRADeviceTaints),
		NoTaintRules:         !gates.Enabled(features.DRADeviceTaintRules),
		NoPartitions:         !gates.Enabled(features.DRAPartitionableDevices),
		NoConsumableCapacity: !gates.Enabled(features.DRAConsumableCapacity),
		NoBindingConditions:  !gates.Enabled(features.DRADeviceBindingConditions),
		NoFilterTimeout:      !gates.Enabled(features.DRASchedulerFilterTimeout),
		FractionalCapacity:   gates.Enabled(features.DRAFractionalCapacityRange),
		DerivedAttributes:    gates.Enabled(features.DRADerivedAttributes),
		CompatibilityGroups:  gates.Enabled(features.DRADeviceCompatibilityGroups),
		ListAttributes:       gates.Enabled(features.DRAListTypeAttributes),
	}
}
