// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apiwrite has the small writes of a scheduler to the API server: the status of pods, and how any write is tried
// again while the API server is in trouble.
//
// # Transient errors
//
// [IsTransient] distinguishes an API server that can't be reached, is overloaded, restarts or has lost its storage for a
// moment from one that refuses. [Retry] tries again after transient errors: a few times within a third of a second, or
// later if the API server says when. It never goes on for long, because the caller is tried again itself: a pod by its
// queue.
//
// # Lost responses
//
// A connection may break after the request and before the response, so that something was written although the write
// failed. Writes that are tried again must be such that doing them twice does no harm: a patch, a deletion of a UID, a
// binding, which the API server takes only once.
//
// # Concurrency
//
// All functions are safe for concurrent use, except that [SetCondition] changes the status that it is given.
package apiwrite
