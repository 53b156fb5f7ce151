// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package features has the feature gates that can be set on the command line.
package features
