// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package randomcluster has simulated clusters in which everything that the in-tree plugins look at changes at random: nodes,
// pods, volumes, claims, devices and what they refer to. They are what `make audit` audits. What happened is recorded and
// can be written as a scenario.
package randomcluster
