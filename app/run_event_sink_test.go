// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// slowSink takes a second for each event.
type slowSink struct{ now, most, all atomic.Int64 }

func (s *slowSink) send() (*eventsv1.Event, error) {
	s.most.Store(max(s.most.Load(), s.now.Add(1)))
	time.Sleep(time.Second) // of the bubble
	s.now.Add(-1)
	s.all.Add(1)
	return &eventsv1.Event{}, nil
}

func (s *slowSink) Create(context.Context, *eventsv1.Event) (*eventsv1.Event, error) { return s.send() }

func (s *slowSink) Update(context.Context, *eventsv1.Event) (*eventsv1.Event, error) { return s.send() }

func (s *slowSink) Patch(context.Context, *eventsv1.Event, []byte) (*eventsv1.Event, error) {
	return s.send()
}

// A slow API server gets a few events at a time, so that bindings do not wait behind thousands; and in the end all of them.
func TestEventsAreWrittenAFewAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := &slowSink{}
		broadcaster := events.NewBroadcaster(newEventSink(slow))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if err := broadcaster.StartRecordingToSinkWithContext(ctx); err != nil {
			t.Fatal(err)
		}
		defer broadcaster.Shutdown()
		recorder := broadcaster.NewRecorder(scheme.Scheme, "test")
		const count = 10 * maxEventRequests
		for i := range count {
			pod := objects.Pod("p").With(func(pod *v1.Pod) { pod.Name += string(rune('A' + i)) }).Build()
			recorder.Eventf(pod, nil, v1.EventTypeNormal, "Scheduled", "Binding", "on node n")
			synctest.Wait() // the broadcaster drops events that it has no time for
		}
		time.Sleep(11 * time.Second)
		if slow.most.Load() != maxEventRequests || slow.all.Load() != count {
			t.Errorf("%d events were written, up to %d at a time; want %d, %d", slow.all.Load(), slow.most.Load(), count, maxEventRequests)
		}
	})
}

func TestEventsThatWaitEndWithTheContext(t *testing.T) {
	sink := newEventSink(&slowSink{})
	for range maxEventRequests {
		sink.requests <- struct{}{}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := sink.Create(ctx, &eventsv1.Event{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v, want %v", err, context.Canceled)
	}
}
