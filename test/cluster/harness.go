// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"testing"
)

// Harness stands in for a test, in programs that use this package. A fatal error ends the goroutine by a panic that
// [Harness.End] turns into an error.
type Harness struct {
	testing.TB
	name     string
	ctx      context.Context
	cancel   context.CancelFunc
	cleanups []func()
	folders  []string
	failures []error
}

// fatal is what FailNow panics with.
type fatal struct{}

// NewHarness returns one with the name that a test would have.
func NewHarness(name string) *Harness {
	h := &Harness{name: name}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	return h
}

// End cleans up, and adds what failed to an error. It is to be deferred.
func (h *Harness) End(err *error) {
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
func (h *Harness) Helper() {}

// Name implements testing.TB.
func (h *Harness) Name() string { return h.name }

// Log implements testing.TB.
func (h *Harness) Log(...any) {}

// Logf implements testing.TB.
func (h *Harness) Logf(string, ...any) {}

// Context implements testing.TB.
func (h *Harness) Context() context.Context { return h.ctx }

// Cleanup implements testing.TB.
func (h *Harness) Cleanup(do func()) { h.cleanups = append(h.cleanups, do) }

// Failed implements testing.TB.
func (h *Harness) Failed() bool { return len(h.failures) > 0 }

// Error implements testing.TB.
func (h *Harness) Error(what ...any) {
	h.failures = append(h.failures, errors.New(fmt.Sprint(what...)))
}

// Errorf implements testing.TB.
func (h *Harness) Errorf(format string, what ...any) {
	h.failures = append(h.failures, fmt.Errorf(format, what...))
}

// Fatal implements testing.TB.
func (h *Harness) Fatal(what ...any) {
	h.Error(what...)
	h.FailNow()
}

// Fatalf implements testing.TB.
func (h *Harness) Fatalf(format string, what ...any) {
	h.Errorf(format, what...)
	h.FailNow()
}

// FailNow implements testing.TB.
func (h *Harness) FailNow() {
	_, file, line, _ := runtime.Caller(2)
	h.Errorf("at %s:%d", file, line)
	panic(fatal{})
}

// TempDir implements testing.TB.
func (h *Harness) TempDir() string {
	folder, err := os.MkdirTemp("", h.name)
	if err != nil {
		h.Fatal(err)
	}
	h.folders = append(h.folders, folder)
	return folder
}
