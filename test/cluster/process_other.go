// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package cluster

import "syscall"

// diesWithParent does nothing here: this can only be asked of Linux.
func diesWithParent() *syscall.SysProcAttr { return nil }
