// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package statedata reads what a plugin wrote into the cycle state at an earlier extension point, as the type that it
// wrote. It allocates nothing when the data is there, so that a Filter may call it once a node.
package statedata
