// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
)

// Switches say which parts of dynamic resource allocation differ from the default. The zero value is the default of
// Kubernetes 1.37. They are the scheduler.DeviceFeatures of an embedder.
type Switches struct {
	// These are on by default.
	NoTaints, NoTaintRules, NoPartitions, NoConsumableCapacity, NoBindingConditions, NoFilterTimeout bool
	// These are off by default.
	FractionalCapacity, DerivedAttributes, CompatibilityGroups, ListAttributes bool
}

// Allocation returns what the allocator may do.
func (s Switches) Allocation() structured.Features {
	return structured.Features{
		AdminAccess:             true,
		PrioritizedList:         true,
		CompatibilityGroups:     s.CompatibilityGroups,
		ConsumableCapacity:      !s.NoConsumableCapacity,
		DerivedAttributes:       s.DerivedAttributes,
		DeviceBindingAndStatus:  !s.NoBindingConditions,
		DeviceTaints:            !s.NoTaints,
		FractionalCapacityRange: s.FractionalCapacity,
		ListTypeAttributes:      s.ListAttributes,
		PartitionableDevices:    !s.NoPartitions,
	}
}

// expressions is how many compiled CEL expressions are kept. Classes and claims have few different ones.
const expressions = 1000

// NewExpressions returns an empty cache of compiled CEL expressions.
func (s Switches) NewExpressions() *cel.Cache {
	return cel.NewCache(expressions, cel.Features{
		EnableConsumableCapacity: !s.NoConsumableCapacity,
		EnableListTypeAttributes: s.ListAttributes,
	})
}
