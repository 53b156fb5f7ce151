// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package polyline turns the shapes of plugin arguments into functions from how full something is to how good that is.
package polyline
