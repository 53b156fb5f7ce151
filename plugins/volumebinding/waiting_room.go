// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package volumebinding

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
)

// checkInterval is how often a condition is checked while no claim or volume changes: it may also depend on nodes and pods.
const checkInterval = time.Second

// waitingRoom is where pods wait for their claims to be bound.
type waitingRoom struct {
	clock   clock.WithTicker
	timeout time.Duration
	// hopeless tells that nothing changes while somebody waits.
	hopeless bool
	// leave ends the listening to informers.
	leave []func() error

	mu sync.Mutex
	// changed is closed at the next change of any claim or volume; nil while nobody waits for it.
	changed chan struct{}
}

// newWaitingRoom returns a room where pods wait up to the timeout and are woken by all changes of the informers.
func newWaitingRoom(clock clock.WithTicker, timeout time.Duration, wakers ...clientcache.SharedIndexInformer) (*waitingRoom, error) {
	w := &waitingRoom{clock: clock, timeout: timeout}
	for _, informer := range wakers {
		registration, err := informer.AddEventHandler(clientcache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { w.wake() },
			UpdateFunc: func(any, any) { w.wake() },
			DeleteFunc: func(any) { w.wake() },
		})
		if err != nil {
			return nil, err
		}
		w.leave = append(w.leave, func() error { return informer.RemoveEventHandler(registration) })
	}
	return w, nil
}

func (w *waitingRoom) close() error {
	var errs []error
	for _, leave := range w.leave {
		errs = append(errs, leave())
	}
	return errors.Join(errs...)
}

// until returns when the condition is met or fails, when the timeout is over, or when the context ends. The condition is
// checked at once, and then whenever something changes; where nothing can change, that is all.
func (w *waitingRoom) until(ctx context.Context, met func() (bool, error)) error {
	start := w.clock.Now()
	timeout := w.clock.NewTimer(w.timeout)
	defer timeout.Stop()
	again := w.clock.NewTicker(checkInterval)
	defer again.Stop()
	for {
		// Taken before the check, so that no change goes unnoticed.
		changed := w.nextChange()
		if done, err := met(); done || err != nil {
			return err
		}
		if w.hopeless {
			return fmt.Errorf("the claims are not bound, and nothing binds them while the pod waits: %w", context.DeadlineExceeded)
		}
		select {
		case <-changed:
		case <-again.C():
		case <-timeout.C():
			return fmt.Errorf("the claims are not bound after %v; look at the PV controller and the provisioner of their classes: %w",
				w.timeout, context.DeadlineExceeded)
		case <-ctx.Done():
			return fmt.Errorf("gave up after %v: %w", w.clock.Since(start), context.Cause(ctx))
		}
	}
}

func (w *waitingRoom) nextChange() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.changed == nil {
		w.changed = make(chan struct{})
	}
	return w.changed
}

func (w *waitingRoom) wake() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.changed != nil {
		close(w.changed)
		w.changed = nil
	}
}
