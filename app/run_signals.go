// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/klog/v2"
)

// catchSignals returns a context that ends when the process is asked to. Asked a second time, the process ends at once
// with exit code 1, until stop is called.
func catchSignals(parent context.Context, logger klog.Logger) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		for asked := false; ; asked = true {
			if _, more := <-signals; !more {
				return
			}
			if asked {
				logger.Info("Told to stop a second time; not waiting for bindings in flight")
				klog.FlushAndExit(klog.ExitFlushTimeout, int(ExitCheckFailed))
			}
			cancel()
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(signals)
		cancel()
	}
}
