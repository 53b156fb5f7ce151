// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/rouse-scheduler/rouse/internal/apiwrite"
)

// catchUpTimeout is how long a scheduler that begins waits for an API server that has trouble.
const catchUpTimeout = time.Minute

// catchUpWithClaims returns when what another scheduler has allocated until now is known, or can't be.
func (s *Scheduler) catchUpWithClaims(ctx context.Context) {
	var follow func(context.Context)
	err := apiwrite.RetryUntil(ctx, catchUpTimeout, apiwrite.IsTransient, func() (err error) {
		follow, err = s.devices.CatchUp(ctx, s.options.Client)
		return err
	})
	switch {
	case ctx.Err() != nil || apierrors.IsNotFound(err): // an API server without claims
	case err != nil:
		s.options.Logger.Error(err, "Allocations that another scheduler wrote just now may be unknown")
	default:
		s.background.Go(func() { follow(ctx) })
	}
}
