// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package devices keeps what a scheduler knows of devices: the claims, the slices with the pools of devices, the classes,
// and which devices are allocated. [Manager] is the fwk.SharedDRAManager of a scheduler.
//
// # Claims
//
// A claim is shown as it will be: as the API server last returned it, even if the informer does not have that version yet.
// Allocations that are decided and not written yet are pending; their devices count as allocated. Handlers hear of every
// change of a claim, in order.
//
// # Pools
//
// What is allocated is kept by pool and changed by what changed: a claim that gains or loses an allocation touches the
// pools of its devices and no others. A node sees some of the pools, see [Manager.View]. What belongs to the slices of one
// node alone is private to that node; everything else is shared.
//
// # Concurrency
//
// Everything is safe for concurrent use. One lock guards claims, pending allocations and pools together, so that a device
// is never free in one and taken in another. Handlers are called without the lock.
package devices
