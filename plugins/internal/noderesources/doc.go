// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package noderesources holds what the plugins NodeResourcesFit and NodeResourcesBalancedAllocation share: the resource
// vector that a pod asks for, the resources that a scoring strategy weighs with what a node has of them, the device
// classes behind extended resources with the devices of nodes, and the signature of a pod's requests.
//
// Requests come from k8s.io/component-helpers/resource, which defines how containers, sidecars, init containers,
// pod-level requests and overhead add up. All values are plain integers: thousandths of a core for CPU, bytes for memory
// and ephemeral storage, units for the rest.
//
// Nothing here changes after it was built, so everything is safe for concurrent use.
package noderesources
