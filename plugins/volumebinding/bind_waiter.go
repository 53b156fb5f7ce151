// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package volumebinding

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	clientcache "k8s.io/client-go/tools/cache"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/clock"

	"github.com/rouse-scheduler/rouse/framework"
)

// checkInterval is how often a condition is checked while no claim or volume changes: it may also depend on nodes and pods.
const checkInterval = time.Second

// bindWaiter waits until the claims of pods are bound.
type bindWaiter struct {
	clock   clock.PassiveClock
	sleep   func(ctx context.Context, duration time.Duration, early <-chan struct{}) error // see framework.ExtendedHandle.Wait
	timeout time.Duration
	// unregister removes the handlers from the informers.
	unregister []func() error

	mu sync.Mutex
	// changed is closed at the next change of any claim or volume; nil while no pod waits for it.
	changed chan struct{}
}

// newBindWaiter returns a waiter with a timeout, which checks again after every change that the informers see.
func newBindWaiter(handle fwk.Handle, timeout time.Duration, informers ...clientcache.SharedIndexInformer) (*bindWaiter, error) {
	w := &bindWaiter{clock: clock.RealClock{}, sleep: framework.WaitOn(clock.RealClock{}), timeout: timeout}
	if extended, ok := handle.(framework.ExtendedHandle); ok {
		w.clock, w.sleep = extended.Clock(), extended.Wait
	}
	for _, informer := range informers {
		registration, err := informer.AddEventHandler(clientcache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { w.wake() },
			UpdateFunc: func(any, any) { w.wake() },
			DeleteFunc: func(any) { w.wake() },
		})
		if err != nil {
			return nil, err
		}
		w.unregister = append(w.unregister, func() error { return informer.RemoveEventHandler(registration) })
	}
	return w, nil
}

func (w *bindWaiter) close() error {
	var errs []error
	for _, unregister := range w.unregister {
		errs = append(errs, unregister())
	}
	return errors.Join(errs...)
}

// wait returns when the condition is met or fails, when the timeout is over, or when the context ends. The condition is
// checked at once, and then whenever something changes.
func (w *bindWaiter) wait(ctx context.Context, met func() (bool, error)) error {
	start := w.clock.Now()
	for {
		// Taken before the check, so that no change goes unnoticed.
		changed := w.nextChange()
		if done, err := met(); done || err != nil {
			return err
		}
		left := w.timeout - w.clock.Since(start)
		if left <= 0 {
			return fmt.Errorf("the claims are not bound after %v; look at the PV controller and the provisioner of their classes: %w",
				w.timeout, context.DeadlineExceeded)
		}
		if err := w.sleep(ctx, min(checkInterval, left), changed); err != nil {
			return fmt.Errorf("gave up after %v: %w", w.clock.Since(start), cmp.Or(context.Cause(ctx), err))
		}
	}
}

func (w *bindWaiter) nextChange() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.changed == nil {
		w.changed = make(chan struct{})
	}
	return w.changed
}

func (w *bindWaiter) wake() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.changed != nil {
		close(w.changed)
		w.changed = nil
	}
}
