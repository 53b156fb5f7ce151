// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package access watches what an API server lets a client do.
//
// A scheduler that may not list some kind of object waits forever, and says no more than that it waits. A [Record]
// sits between the client and the network and remembers which requests were refused for want of permission, which kinds
// the API server does not know, and whether it can be reached at all; it logs each of these once, with what is to be
// added to the role. Whatever is answered later is forgotten again.
package access
