// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	restclient "k8s.io/client-go/rest"
)

// errNotLeading is why a request is not sent that would change something.
var errNotLeading = errors.New("this replica no longer holds the Lease, so it makes no changes; another one may be the leader")

// leadership is what a fence asks the elector.
type leadership interface {
	IsLeader() bool
	// Check fails if the Lease has run out for longer than this.
	Check(tolerated time.Duration) error
}

// fence lets no request through that would change something, once the Lease has run out or belongs to another replica. An
// elector notices that only when its next renewals have failed. A process that was stopped for longer than its Lease would
// go on with its bindings until then, and could give away devices that the next leader has given to other pods.
type fence struct{ leadership atomic.Pointer[leadership] }

// start makes the fence ask from now on. Without leader election it lets everything through.
func (f *fence) start(l leadership) { f.leadership.Store(&l) }

// fenced returns a copy of a configuration whose clients are behind the fence.
func (f *fence) fenced(config *restclient.Config) *restclient.Config {
	config = restclient.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return fencedTransport{f, next} })
	return config
}

func (f *fence) check() error {
	l := f.leadership.Load()
	if l == nil {
		return nil
	}
	if !(*l).IsLeader() {
		return errNotLeading
	}
	if err := (*l).Check(0); err != nil {
		return fmt.Errorf("%w (%w)", errNotLeading, err)
	}
	return nil
}

type fencedTransport struct {
	fence *fence
	next  http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t fencedTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method != http.MethodGet {
		if err := t.fence.check(); err != nil {
			if request.Body != nil {
				_ = request.Body.Close() // as every RoundTripper must
			}
			return nil, err
		}
	}
	return t.next.RoundTrip(request)
}

// WrappedRoundTripper lets client-go look behind the fence.
func (t fencedTransport) WrappedRoundTripper() http.RoundTripper { return t.next }
