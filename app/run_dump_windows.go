// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import "os"

// dumpSignal is nil: the system has no signal to spare.
func dumpSignal() os.Signal { return nil }
