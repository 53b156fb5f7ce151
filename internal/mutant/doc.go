// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package mutant runs tests on sources into which a known error was put, to show that the tests find it. A [Mutant] says
// which text of which file is replaced by what. The files themselves stay untouched: go builds with the changed text
// in their place (go help build, -overlay).
//
// A list of mutants is a table in a test. [Check] fails for one whose text no longer occurs, so that a list can't outlive
// the code that it was written for.
package mutant
