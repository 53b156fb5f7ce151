// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package volumebinding

import (
	"context"
	"errors"
	"testing"
	"time"

	"k8s.io/utils/clock"
)

// Where nothing can change while somebody waits, nobody waits.
func TestNothingToWaitFor(t *testing.T) {
	room := &bindWaiter{clock: clock.RealClock{}, timeout: time.Minute, clockStandsStill: true}
	if err := room.wait(t.Context(), func() (bool, error) { return false, nil }); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the error of a timeout", err)
	}
	if err := room.wait(t.Context(), func() (bool, error) { return true, nil }); err != nil {
		t.Errorf("what is done already failed: %v", err)
	}
}
