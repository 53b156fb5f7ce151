// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apiwrite has the small writes of a scheduler to the API server: the status of pods, and how any write is tried
// again while the API server is in trouble.
//
// # Trouble that passes
//
// [Passing] tells an API server that can't be reached, is overloaded, restarts or has lost its storage for a moment from
// one that refuses. [Retry] tries again while trouble passes: a few times within a third of a second, or later if the
// API server says when. It never goes on for long, because whoever writes is tried again itself: a pod by its queue.
//
// # Lost answers
//
// Trouble may hit the answer rather than the request, so that something was written although the write failed. Writes
// that are tried again must be such that doing them twice does no harm: a patch, a deletion of a UID, a binding, which
// the API server takes only once.
//
// # Concurrency
//
// All functions are safe for concurrent use, except that [SetCondition] changes the status that it is given.
package apiwrite
