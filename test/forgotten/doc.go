// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package forgotten runs kube-scheduler's own in-tree plugins in Rouse and audits them: which events do they forget? What is
// found is shrunk to a scenario of a few steps; testdata has one for each that is known, and docs/forgotten-events.md
// describes them.
//
// The plugins poll in real time where they wait for volumes and devices. Tests therefore run in a testing/synctest bubble,
// in which such a wait takes no time.
package forgotten
