// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/klog/v2"
	upstream "k8s.io/kubernetes/pkg/scheduler"
	upstreamqueue "k8s.io/kubernetes/pkg/scheduler/backend/queue"
	upstreamframework "k8s.io/kubernetes/pkg/scheduler/framework"
	testingclock "k8s.io/utils/clock/testing"
)

// kubeSchedulerRoom is the queue of a kube-scheduler whose informers are never started, in virtual time.
type kubeSchedulerRoom struct {
	queue  upstreamqueue.SchedulingQueue
	clock  *testingclock.FakeClock
	cancel context.CancelFunc
	logger klog.Logger
}

func newKubeSchedulerRoom(ctx context.Context) (waitingRoom, error) {
	ctx, cancel := context.WithCancel(ctx)
	client := fake.NewClientset()
	r := &kubeSchedulerRoom{clock: testingclock.NewFakeClock(time.Now()), cancel: cancel, logger: klog.FromContext(ctx)}
	s, err := upstream.New(ctx, client, informers.NewSharedInformerFactory(client, 0), nil, noEvents(), upstream.WithClock(r.clock))
	if err != nil {
		cancel()
		return nil, err
	}
	r.queue = s.SchedulingQueue
	return r, nil
}

func (r *kubeSchedulerRoom) park(ctx context.Context, pods []*v1.Pod, plugin string) error {
	for _, pod := range pods {
		r.queue.Add(ctx, pod)
	}
	return r.parkAgain(len(pods), plugin)
}

func (r *kubeSchedulerRoom) parkAgain(pods int, plugin string) error {
	for range pods {
		entity, err := r.queue.Pop(r.logger)
		if err != nil {
			return err
		}
		info, ok := entity.(*upstreamframework.QueuedPodInfo)
		if !ok {
			return fmt.Errorf("the queue gave out a %T", entity)
		}
		info.UnschedulablePlugins.Clear()
		info.UnschedulablePlugins.Insert(plugin)
		if err := r.queue.AddUnschedulablePodIfNotPresent(r.logger, info, r.queue.SchedulingCycle()); err != nil {
			return err
		}
	}
	return nil
}

func (r *kubeSchedulerRoom) tell(happened occurrence) {
	for _, event := range happened.events {
		r.queue.MoveAllToActiveOrBackoffQueue(r.logger, event, happened.old, happened.new, nil)
	}
}

func (r *kubeSchedulerRoom) waiting() int { return len(r.queue.UnschedulablePods()) }

func (r *kubeSchedulerRoom) pass(duration time.Duration) { r.clock.Step(duration) }

func (r *kubeSchedulerRoom) close() {
	r.queue.Close()
	r.cancel()
}
