// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package informer is a shared informer without goroutines and without a watch: whoever knows of a change hands it to the
// informer, and every handler has run when the call returns. Lists are in the order of the keys.
//
// An informer is for one goroutine at a time, but for its indexer, which is safe for concurrent use.
package informer
