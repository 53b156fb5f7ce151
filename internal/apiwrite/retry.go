// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package apiwrite

import (
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/util/retry"
)

// maxDelay bounds the delay that the API server may ask for with Retry-After, since a pod waits meanwhile.
const maxDelay = 2 * time.Second

// IsTransient reports whether a write that failed with this error may succeed if it is tried again as it is: the API server
// could not be reached, did not answer, or answered that it is overloaded or has trouble of its own.
func IsTransient(err error) bool {
	if apierrors.IsInternalError(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsTooManyRequests(err) ||
		apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) {
		return true
	}
	var (
		call    *url.Error
		network net.Error
	)
	return errors.As(err, &call) || errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		utilnet.IsConnectionRefused(err) || utilnet.IsConnectionReset(err) || utilnet.IsHTTP2ConnectionLost(err)
}

// IsTransientOrConflict is [IsTransient], or that another client was writing the same object. Patches succeed when they
// are tried again.
func IsTransientOrConflict(err error) bool { return IsTransient(err) || apierrors.IsConflict(err) }

// Retry calls write until it succeeds or fails with an error for which retriable returns false, four times at most, with
// a pause between two calls that grows, or is what the API server asks for. Once the context has ended there is no
// further call. It returns the last error.
func Retry(ctx context.Context, retriable func(error) bool, write func() error) error {
	backoff := retry.DefaultBackoff
	for {
		err := write()
		if err == nil || !retriable(err) || backoff.Steps <= 1 {
			return err
		}
		delay := backoff.Step()
		if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
			delay = max(delay, min(time.Duration(seconds)*time.Second, maxDelay))
		}
		if !sleep(ctx, delay) {
			return err
		}
	}
}

// maxPause is the longest pause between two calls of RetryUntil.
const maxPause = 5 * time.Second

// RetryUntil is [Retry] for what must be known before anything else can be done: it goes on, with pauses of up to five
// seconds, until as much time has passed as the limit says.
func RetryUntil(ctx context.Context, limit time.Duration, retriable func(error) bool, call func() error) error {
	end := time.Now().Add(limit)
	for pause := retry.DefaultBackoff.Duration; ; pause = min(2*pause, maxPause) {
		err := call()
		if err == nil || !retriable(err) || time.Now().Add(pause).After(end) || !sleep(ctx, pause) {
			return err
		}
	}
}

// sleep returns false, at once, when the context ends.
func sleep(ctx context.Context, delay time.Duration) bool {
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
