// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package assumed shows the objects of an informer as they are about to be: as a scheduling decision changes them, from
// the moment of the decision until the informer shows that the API server took the change, or took another one.
//
// Without it two pods that are scheduled one right after the other could be given the same volume, as the informer
// shows the first decision only when it has made its way to the API server and back.
//
// # Which object counts
//
// An assumed object counts as long as the informer still has the version that it was derived from. As soon as the
// informer has another version, that one counts, whatever it says: either it is the result of the decision, or
// something else happened and the decision is void. So a cache can't be wrong for longer than the informer is late.
//
// # Concurrency
//
// A [Cache] may be used concurrently, and the handlers of its informer may be called in any goroutine, also in one that
// is just calling the API server. The lock of a cache is not held while anybody else's code runs, apart from lookups in
// the store of the informer.
package assumed
