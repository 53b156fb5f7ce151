// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package volumebinding

import (
	"context"
	"errors"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"github.com/rouse-scheduler/rouse/framework"
)

// noTime is a handle by which no plugin can wait.
type noTime struct{ framework.ExtendedHandle }

func (noTime) Clock() clock.WithDelayedExecution { return clock.RealClock{} }

func (noTime) Wait(context.Context, time.Duration, <-chan struct{}) error {
	return context.DeadlineExceeded
}

// Where nothing can change while a plugin waits, the pod fails at once.
func TestNothingToWaitFor(t *testing.T) {
	waiter, err := newBindWaiter(noTime{}, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if err := waiter.wait(t.Context(), func() (bool, error) { return false, nil }); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the error of a timeout", err)
	}
	if err := waiter.wait(t.Context(), func() (bool, error) { return true, nil }); err != nil {
		t.Errorf("what is done already failed: %v", err)
	}
}
