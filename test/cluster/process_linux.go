// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import "syscall"

// diesWithParent has the kernel kill a process when the thread that started it ends, so that a test run that is cut
// short leaves no schedulers behind.
func diesWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
