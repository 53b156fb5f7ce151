// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package features

import (
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/component-base/featuregate"
)

// The gates that Rouse acts on, in addition to those of the libraries.
const (
	// SchedulerPopFromBackoffQ has pods tried before their backoff is over when nothing else is to be done.
	SchedulerPopFromBackoffQ featuregate.Feature = "SchedulerPopFromBackoffQ"
	// SchedulerAsyncPreemption evicts victims in the background.
	SchedulerAsyncPreemption featuregate.Feature = "SchedulerAsyncPreemption"
	// NominatedNodeNameForExpectation writes the chosen node into the pod's status before it waits or is prepared for.
	NominatedNodeNameForExpectation featuregate.Feature = "NominatedNodeNameForExpectation"
	// StorageCapacityScoring prefers nodes by the storage capacity that they would have left.
	StorageCapacityScoring featuregate.Feature = "StorageCapacityScoring"
	// VolumeLimitScaling rejects nodes where a CSI driver that must be there is missing.
	VolumeLimitScaling featuregate.Feature = "VolumeLimitScaling"
	// DRADeviceTaints has the taints of devices respected, and DRADeviceTaintRules those that rules give them.
	DRADeviceTaints     featuregate.Feature = "DRADeviceTaints"
	DRADeviceTaintRules featuregate.Feature = "DRADeviceTaintRules"
	// DRAPartitionableDevices takes devices that share counters.
	DRAPartitionableDevices featuregate.Feature = "DRAPartitionableDevices"
	// DRAConsumableCapacity gives claims shares of a device.
	DRAConsumableCapacity featuregate.Feature = "DRAConsumableCapacity"
	// DRADeviceBindingConditions waits for devices that have to be made ready.
	DRADeviceBindingConditions featuregate.Feature = "DRADeviceBindingConditions"
	// DRASchedulerFilterTimeout limits how long devices are looked for on a node.
	DRASchedulerFilterTimeout featuregate.Feature = "DRASchedulerFilterTimeout"
	// DRAFractionalCapacityRange lets shares of a device be fractions of a unit.
	DRAFractionalCapacityRange featuregate.Feature = "DRAFractionalCapacityRange"
	// DRADerivedAttributes, DRADeviceCompatibilityGroups and DRAListTypeAttributes are attributes of devices that are
	// computed, groups of devices that go together, and attributes that are lists.
	DRADerivedAttributes         featuregate.Feature = "DRADerivedAttributes"
	DRADeviceCompatibilityGroups featuregate.Feature = "DRADeviceCompatibilityGroups"
	DRAListTypeAttributes        featuregate.Feature = "DRAListTypeAttributes"
)

// effect is what becomes of a gate in Rouse.
type effect int

const (
	// Rouse does what it does at the default, whatever the gate says.
	_ effect = iota
	// acted: the gate switches something.
	acted
)

// gate is a row of the table.
type gate struct {
	name   featuregate.Feature
	specs  featuregate.VersionedSpecs
	effect effect
	needs  []featuregate.Feature
}

// table returns the gates of kube-scheduler that no library registers. Their stages and defaults are those of the
// version that Rouse speaks; an older --emulated-version does not change them.
func table() []gate {
	var gates []gate
	for _, group := range [][]gate{queueGates(), groupGates(), podGates(), volumeGates(), deviceGates()} {
		gates = append(gates, group...)
	}
	return gates
}

func queueGates() []gate {
	return []gate{
		switched(beta(SchedulerAsyncPreemption, on)),
		switched(beta(SchedulerPopFromBackoffQ, on)),
		beta("OpportunisticBatching", on),
		switched(beta(NominatedNodeNameForExpectation, on)),
		beta("SchedulerAsyncAPICalls", off),
		alpha("SchedulerPreQueueingHints"),
		locked("PodSchedulingReadiness"),
		locked("PodObservedGenerationTracking"),
	}
}

func groupGates() []gate {
	const generic, topology = "GenericWorkload", "TopologyAwareWorkloadScheduling"
	return []gate{
		beta(generic, off),
		alpha(topology, generic),
		alpha("CompositePodGroup", generic, topology),
		alpha("PodGroupPreemptionPolicy", generic),
		beta("DRAWorkloadResourceClaims", off, allocation, generic),
		alpha("WorkloadWithJob", generic),
	}
}

func podGates() []gate {
	const resize, podLevel, declared, spread = "InPlacePodVerticalScaling", "PodLevelResources", "NodeDeclaredFeatures", "MatchLabelKeysInPodTopologySpread"
	return []gate{
		locked(resize),
		beta(podLevel, on),
		locked(declared),
		beta("InPlacePodLevelResourcesVerticalScaling", on, resize, podLevel, declared),
		alpha("InPlacePodVerticalScalingSchedulerPreemption", resize),
		alpha("TaintTolerationComparisonOperators"),
		alpha("InterPodAffinityHostnameFastPath"),
		locked("NodeInclusionPolicyInPodTopologySpread"),
		beta(spread, on),
		beta("MatchLabelKeysInPodTopologySpreadSelectorMerge", on, spread),
		locked("MatchLabelKeysInPodAffinity"),
	}
}

func volumeGates() []gate {
	return []gate{
		switched(beta(StorageCapacityScoring, on)),
		locked("VolumeAttributesClass"),
		switched(beta(VolumeLimitScaling, on)),
		locked("MutableCSINodeAllocatableCount"),
		alpha("MutablePVNodeAffinity"),
	}
}

// allocation is the gate that all gates of dynamic resource allocation depend on.
const allocation featuregate.Feature = "DynamicResourceAllocation"

func deviceGates() []gate {
	const status = "DRAResourceClaimDeviceStatus"
	return []gate{
		locked(allocation),
		locked("DRAAdminAccess", allocation),
		locked("DRAPrioritizedList", allocation),
		locked("DRAExtendedResource", allocation),
		locked(status),
		switched(stable(DRADeviceTaints, allocation)),
		switched(stable(DRADeviceTaintRules, allocation, DRADeviceTaints)),
		switched(beta(DRAPartitionableDevices, on, allocation)),
		switched(beta(DRAConsumableCapacity, on, allocation)),
		switched(beta(DRADeviceBindingConditions, on, allocation, status)),
		switched(beta(DRASchedulerFilterTimeout, on, allocation)),
		beta("DRAResourceClaimGranularStatusAuthorization", on, allocation, status),
		switched(fractionalCapacity(allocation, DRAConsumableCapacity)),
		switched(alpha(DRADerivedAttributes, allocation)),
		switched(alpha(DRADeviceCompatibilityGroups, allocation, DRAPartitionableDevices)),
		switched(alpha(DRAListTypeAttributes, allocation)),
		alpha("DRANodeAllocatableResources", allocation),
		alpha("DRAOptionalNodeOperations", allocation, "NodeDeclaredFeatures"),
	}
}

const on, off = true, false

// always is older than every version that can be emulated.
func always() *version.Version { return version.MajorMinor(1, 0) }

func row(name featuregate.Feature, spec featuregate.FeatureSpec, needs []featuregate.Feature) gate {
	spec.Version = always()
	return gate{name: name, specs: featuregate.VersionedSpecs{spec}, needs: needs}
}

func alpha(name featuregate.Feature, needs ...featuregate.Feature) gate {
	return row(name, featuregate.FeatureSpec{PreRelease: featuregate.Alpha}, needs)
}

func beta(name featuregate.Feature, value bool, needs ...featuregate.Feature) gate {
	return row(name, featuregate.FeatureSpec{PreRelease: featuregate.Beta, Default: value}, needs)
}

// stable is a gate that can still be closed.
func stable(name featuregate.Feature, needs ...featuregate.Feature) gate {
	return row(name, featuregate.FeatureSpec{PreRelease: featuregate.GA, Default: on}, needs)
}

// locked is a gate that is open for good.
func locked(name featuregate.Feature, needs ...featuregate.Feature) gate {
	return row(name, featuregate.FeatureSpec{PreRelease: featuregate.GA, Default: on, LockToDefault: true}, needs)
}

func switched(g gate) gate {
	g.effect = acted
	return g
}

// fractionalCapacity is open once every component of the control plane knows it.
func fractionalCapacity(needs ...featuregate.Feature) gate {
	known := version.MajorMinor(1, 37)
	return gate{
		name: "DRAFractionalCapacityRange",
		specs: featuregate.VersionedSpecs{
			{Version: known, PreRelease: featuregate.Beta},
			{Version: known, PreRelease: featuregate.Beta, Default: on, MinCompatibilityVersion: known},
		},
		needs: needs,
	}
}
