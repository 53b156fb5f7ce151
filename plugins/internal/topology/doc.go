// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package topology counts by topology domain, for the plugins whose answers hang on the pods of many nodes. A domain is
// the nodes that have the same value for a topology key, which is the name of a label.
//
// A [Counter] may be read by many goroutines, but not while it changes.
package topology
