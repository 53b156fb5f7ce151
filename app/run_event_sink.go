// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"

	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/client-go/tools/events"
)

// maxEventRequests is how many requests write events at a time. The broadcaster sends each event in a goroutine of its own,
// as soon as it is made: without a limit more than a thousand requests wait in the API server, ahead of the bindings, and
// each costs the stacks of two goroutines.
const maxEventRequests = 32

// eventSink writes events to another sink, not more than its channel holds at a time. It is safe for concurrent use.
type eventSink struct {
	to       events.EventSink
	requests chan struct{}
}

func newEventSink(to events.EventSink) *eventSink {
	return &eventSink{to: to, requests: make(chan struct{}, maxEventRequests)}
}

// Create implements events.EventSink.
func (s *eventSink) Create(ctx context.Context, event *eventsv1.Event) (*eventsv1.Event, error) {
	return s.limited(ctx, func() (*eventsv1.Event, error) { return s.to.Create(ctx, event) })
}

// Update implements events.EventSink.
func (s *eventSink) Update(ctx context.Context, event *eventsv1.Event) (*eventsv1.Event, error) {
	return s.limited(ctx, func() (*eventsv1.Event, error) { return s.to.Update(ctx, event) })
}

// Patch implements events.EventSink.
func (s *eventSink) Patch(ctx context.Context, old *eventsv1.Event, data []byte) (*eventsv1.Event, error) {
	return s.limited(ctx, func() (*eventsv1.Event, error) { return s.to.Patch(ctx, old, data) })
}

func (s *eventSink) limited(ctx context.Context, send func() (*eventsv1.Event, error)) (*eventsv1.Event, error) {
	select {
	case s.requests <- struct{}{}:
		defer func() { <-s.requests }()
		return send()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
