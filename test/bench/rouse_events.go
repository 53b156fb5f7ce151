// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/fake"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/rouse-scheduler/rouse/queue"
	"github.com/rouse-scheduler/rouse/runtime"
	"github.com/rouse-scheduler/rouse/scheduler"
)

// rouseRoom is the queue of a Rouse scheduler whose informers are never started, in virtual time.
type rouseRoom struct {
	queue  *queue.Queue
	clock  *testingclock.FakeClock
	cancel context.CancelFunc
}

func newRouseRoom(ctx context.Context) (waitingRoom, error) {
	ctx, cancel := context.WithCancel(ctx)
	client := fake.NewClientset()
	r := &rouseRoom{clock: testingclock.NewFakeClock(time.Now()), cancel: cancel}
	s, err := newMeasuredRouse(ctx, scheduler.Options{
		Client: client, Informers: scheduler.NewInformerFactoryWith(client, scheduler.InformerOptions{TrimPods: true}),
		Execution: runtime.Execution{Clock: r.clock},
	})
	if err != nil {
		cancel()
		return nil, err
	}
	r.queue = s.Queue()
	return r, nil
}

func (r *rouseRoom) park(_ context.Context, pods []*v1.Pod, plugin string) error {
	for _, pod := range pods {
		r.queue.Add(pod)
	}
	return r.parkAgain(len(pods), plugin)
}

func (r *rouseRoom) parkAgain(pods int, plugin string) error {
	r.queue.FlushBackoff()
	for range pods {
		info := r.queue.TryPop()
		if info == nil {
			return fmt.Errorf("fewer than %d pods are ready to be tried", pods)
		}
		info.UnschedulablePlugins.Clear()
		info.UnschedulablePlugins.Insert(plugin)
		if err := r.queue.AddUnschedulable(info); err != nil {
			return err
		}
	}
	return nil
}

func (r *rouseRoom) tell(happened occurrence) {
	for _, event := range happened.events {
		r.queue.Move(event, happened.old, happened.new, nil)
	}
}

func (r *rouseRoom) waiting() int { return r.queue.Stats().Unschedulable }

func (r *rouseRoom) pass(duration time.Duration) { r.clock.Step(duration) }

func (r *rouseRoom) close() {
	r.queue.Close()
	r.cancel()
}
