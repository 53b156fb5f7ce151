// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !windows

package app

import (
	"os"
	"syscall"
)

// dumpSignal is the signal that asks a scheduler to log what it knows.
func dumpSignal() os.Signal { return syscall.SIGUSR2 }
