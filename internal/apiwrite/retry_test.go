// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package apiwrite_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rouse-scheduler/rouse/internal/apiwrite"
)

func pods() schema.GroupResource { return schema.GroupResource{Resource: "pods"} }

// answered is what a client makes of an answer that is not the API server's own.
func answered(code int) error {
	return apierrors.NewGenericServerResponse(code, "patch", pods(), "a", "something", 0, true)
}

func TestPassing(t *testing.T) {
	call := func(err error) error { return &url.Error{Op: "Patch", URL: "https://api", Err: err} }
	tests := []struct {
		name string
		err  error
		want bool
	}{
		{"internal error", apierrors.NewInternalError(errors.New("etcd")), true},
		{"unavailable", apierrors.NewServiceUnavailable("starting"), true},
		{"too many requests", apierrors.NewTooManyRequests("slowly", 1), true},
		{"server timeout", apierrors.NewServerTimeout(pods(), "patch", 1), true},
		{"timeout", apierrors.NewTimeoutError("too slow", 1), true},
		{"bad gateway", answered(http.StatusBadGateway), true},
		{"gateway timeout", answered(http.StatusGatewayTimeout), true},
		{"too many requests, from a proxy", answered(http.StatusTooManyRequests), true},
		{"connection refused", call(&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}), true},
		{"connection refused, bare", syscall.ECONNREFUSED, true},
		{"connection reset", call(syscall.ECONNRESET), true},
		{"connection lost", call(errors.New("http2: client connection lost")), true},
		{"connection closed", call(errors.New("http2: server sent GOAWAY and closed the connection")), true},
		{"end of file", call(io.EOF), true},
		{"answer cut off", fmt.Errorf("reading the body: %w", io.ErrUnexpectedEOF), true},
		{"client timeout", call(context.DeadlineExceeded), true},
		{"wrapped", fmt.Errorf("binding: %w", apierrors.NewServiceUnavailable("starting")), true},

		{"conflict", apierrors.NewConflict(pods(), "a", errors.New("changed")), false},
		{"not found", apierrors.NewNotFound(pods(), "a"), false},
		{"forbidden", apierrors.NewForbidden(pods(), "a", errors.New("no")), false},
		{"invalid", apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "a", nil), false},
		{"unauthorized", apierrors.NewUnauthorized("no"), false},
		{"another error", errors.New("no"), false},
		{"none", nil, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := apiwrite.IsTransient(tt.err); got != tt.want {
				t.Errorf("passing: %v, want %v", got, tt.want)
			}
			want := tt.want || apierrors.IsConflict(tt.err)
			if got := apiwrite.IsTransientOrConflict(tt.err); got != want {
				t.Errorf("passing or conflict: %v, want %v", got, want)
			}
		})
	}
}

func TestRetry(t *testing.T) {
	internal := apierrors.NewInternalError(errors.New("etcd"))
	forbidden := apierrors.NewForbidden(pods(), "a", errors.New("no"))
	patient, impatient := apierrors.NewTooManyRequests("slowly", 1), apierrors.NewTooManyRequests("slowly", 3600)
	tests := []struct {
		name     string
		answers  []error // nil after the last
		calls    int
		want     error
		min, max time.Duration
	}{
		{"success", nil, 1, nil, 0, 0},
		{"passes", []error{internal, internal}, 3, nil, 60 * time.Millisecond, 70 * time.Millisecond},
		{"does not pass", []error{internal, internal, internal, internal}, 4, internal, 300 * time.Millisecond, 350 * time.Millisecond},
		{"refused", []error{forbidden}, 1, forbidden, 0, 0},
		{"refused at last", []error{internal, forbidden}, 2, forbidden, 10 * time.Millisecond, 12 * time.Millisecond},
		{"the API server says when", []error{patient, patient}, 3, nil, 2 * time.Second, 2 * time.Second},
		{"it wants much", []error{impatient}, 2, nil, 2 * time.Second, 2 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls, began := 0, time.Now()
				err := apiwrite.Retry(t.Context(), apiwrite.IsTransient, func() error {
					calls++
					if calls <= len(tt.answers) {
						return tt.answers[calls-1]
					}
					return nil
				})
				if !errors.Is(err, tt.want) || calls != tt.calls {
					t.Errorf("%d calls, error %v; want %d, %v", calls, err, tt.calls, tt.want)
				}
				if took := time.Since(began); took < tt.min || took > tt.max {
					t.Errorf("took %v, want %v to %v", took, tt.min, tt.max)
				}
			})
		})
	}
}

func TestRetryEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
		defer cancel()
		calls, began := 0, time.Now()
		err := apiwrite.Retry(ctx, apiwrite.IsTransient, func() error {
			calls++
			return io.EOF
		})
		if !errors.Is(err, io.EOF) || calls != 2 || time.Since(began) != 30*time.Millisecond {
			t.Errorf("%d calls, error %v, after %v; want 2, the last error, 30ms", calls, err, time.Since(began))
		}
	})
}

func TestInsist(t *testing.T) {
	forbidden := apierrors.NewForbidden(pods(), "a", errors.New("no"))
	tests := []struct {
		name     string
		answer   func(since time.Duration) error
		want     error
		min, max time.Duration
		calls    int
	}{
		{"the trouble lasts", func(time.Duration) error { return io.EOF }, io.EOF, 50 * time.Second, time.Minute, 20},
		{"the trouble passes", func(since time.Duration) error {
			if since < 20*time.Second {
				return io.EOF
			}
			return nil
		}, nil, 20 * time.Second, 25 * time.Second, 13},
		{"refused", func(time.Duration) error { return forbidden }, forbidden, 0, 0, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls, began := 0, time.Now()
				err := apiwrite.RetryUntil(t.Context(), time.Minute, apiwrite.IsTransient, func() error {
					calls++
					return tt.answer(time.Since(began))
				})
				if took := time.Since(began); !errors.Is(err, tt.want) || took < tt.min || took > tt.max {
					t.Errorf("error %v after %v, want %v after %v to %v", err, took, tt.want, tt.min, tt.max)
				}
				if calls != tt.calls {
					t.Errorf("%d calls, want %d", calls, tt.calls)
				}
			})
		})
	}
}
