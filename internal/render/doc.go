// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package render writes the values of package inspect, and the reports and trace entries of package simulate, for people:
// as text in the [Style] of a terminal or of a file, and as HTML. [JSON] and [YAML] encode any value for programs.
//
// Text may change between releases. Functions of this package have no state and are safe for concurrent use; none of them
// modifies what it writes.
package render
