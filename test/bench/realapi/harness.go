// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"testing"
)

// harness is what the API server, which is made for tests, wants of a test. A fatal error ends the goroutine by a panic
// that end turns into an error.
type harness struct {
	testing.TB
	ctx      context.Context
	cancel   context.CancelFunc
	cleanups []func()
	folders  []string
	failures []error
}

// fatal is what FailNow panics with.
type fatal struct{}

func newHarness() *harness {
	h := &harness{}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	return h
}

// end cleans up, and adds what failed to an error. It is to be deferred.
func (h *harness) end(err *error) {
	switch cause := recover().(type) {
	case nil, fatal:
	default:
		panic(cause)
	}
	h.cancel()
	for i := len(h.cleanups) - 1; i >= 0; i-- {
		h.cleanups[i]()
	}
	for _, folder := range h.folders {
		h.failures = append(h.failures, os.RemoveAll(folder))
	}
	*err = errors.Join(append(h.failures, *err)...)
}

// Helper implements testing.TB.
func (h *harness) Helper() {}

// Name implements testing.TB.
func (h *harness) Name() string { return "realapi" }

// Log implements testing.TB.
func (h *harness) Log(...any) {}

// Logf implements testing.TB.
func (h *harness) Logf(string, ...any) {}

// Context implements testing.TB.
func (h *harness) Context() context.Context { return h.ctx }

// Cleanup implements testing.TB.
func (h *harness) Cleanup(do func()) { h.cleanups = append(h.cleanups, do) }

// Failed implements testing.TB.
func (h *harness) Failed() bool { return len(h.failures) > 0 }

// Error implements testing.TB.
func (h *harness) Error(what ...any) {
	h.failures = append(h.failures, errors.New(fmt.Sprint(what...)))
}

// Errorf implements testing.TB.
func (h *harness) Errorf(format string, what ...any) {
	h.failures = append(h.failures, fmt.Errorf(format, what...))
}

// Fatal implements testing.TB.
func (h *harness) Fatal(what ...any) {
	h.Error(what...)
	h.FailNow()
}

// Fatalf implements testing.TB.
func (h *harness) Fatalf(format string, what ...any) {
	h.Errorf(format, what...)
	h.FailNow()
}

// FailNow implements testing.TB.
func (h *harness) FailNow() {
	_, file, line, _ := runtime.Caller(2)
	h.Errorf("at %s:%d", file, line)
	panic(fatal{})
}

// TempDir implements testing.TB.
func (h *harness) TempDir() string {
	folder, err := os.MkdirTemp("", "realapi")
	if err != nil {
		h.Fatal(err)
	}
	h.folders = append(h.folders, folder)
	return folder
}
