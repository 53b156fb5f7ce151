// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	upstream "k8s.io/kubernetes/pkg/scheduler"

	"github.com/rouse-scheduler/rouse/scheduler"
	"github.com/rouse-scheduler/rouse/test/bench/objects"
)

// A live row runs a whole scheduler: its loops, its binding cycles, preemption and requeueing, in real time, on an API in
// memory. The pods exist when it starts, and the row ends when the last of them is bound, or found to fit nowhere.

// newLive builds a scheduler on an API, and returns what runs it until the context ends.
type newLive func(ctx context.Context, api *memoryAPI) (run func(context.Context) error, err error)

func newRouseLive(ctx context.Context, api *memoryAPI) (func(context.Context) error, error) {
	configuration, err := settings{}.forRouse()
	if err != nil {
		return nil, err
	}
	s, err := newMeasuredRouse(ctx, scheduler.Options{
		Configuration: configuration,
		Client:        api.client,
		Informers:     api.informers,
		Recorder:      func(string) events.EventRecorderLogger { return &events.FakeRecorder{} },
	})
	if err != nil {
		return nil, err
	}
	return s.Run, nil
}

func newKubeSchedulerLive(ctx context.Context, api *memoryAPI) (func(context.Context) error, error) {
	s, err := upstream.New(ctx, api.client, api.informers, nil, noEvents())
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		s.Run(ctx)
		return nil
	}, nil
}

// liveCase is a row: what there is, and what becomes of it.
type liveCase struct {
	name    string
	unit    string
	size    int
	nodes   int
	present func(nodes []*v1.Node) []*v1.Pod // pods that have a node already
	first   []*v1.Pod                        // dealt with before the measurement
	pods    []*v1.Pod                        // what is measured, for each of them
	bound   int                              // how many pods are bound in the end
	reject  int                              // how many times, at least, a pod was told that it fits nowhere
	target  float64
	quick   bool
}

const (
	liveNodes      = 5_000
	victimsPerNode = 4
	hopelessPods   = 5_000
	preemptorPods  = 1_000
	liveTimeout    = 15 * time.Minute

	// In thousandths of a CPU, of which a node has 32: three of its four victims must go to make room for a preemptor.
	victimCPU, preemptorCPU = 7_000, 24_000
	hopelessCPU             = 64_000
)

// liveCases returns the rows; a divisor makes them smaller.
func liveCases(divisor int) []liveCase {
	nodes, hopeless, preemptors := liveNodes/divisor, hopelessPods/divisor, preemptorPods/divisor
	return []liveCase{
		{
			name: "unschedulable", unit: "pods", size: hopeless, nodes: nodes, target: 5,
			pods: podsWith("hopeless", hopeless, hopelessCPU, 0), reject: hopeless,
		},
		{
			name: "schedulable while others are not", unit: "unschedulable pods", size: hopeless, nodes: nodes, target: 5,
			first: podsWith("hopeless", hopeless, hopelessCPU, 0), reject: hopeless,
			pods: podsWith("pod", preemptors, 100, 0), bound: preemptors,
		},
		{
			name: "preemption", unit: "victims", size: nodes * victimsPerNode, nodes: nodes, target: 5,
			present: victims, pods: podsWith("preemptor", preemptors, preemptorCPU, 100), bound: preemptors,
		},
	}
}

func podsWith(name string, count int, milliCPU int64, priority int32) []*v1.Pod {
	pods := make([]*v1.Pod, count)
	for i := range pods {
		pods[i] = objects.Pod(fmt.Sprintf("%s-%06d", name, i), milliCPU, 128<<20)
		pods[i].Spec.Priority = &priority
	}
	return pods
}

// victims are pods on the nodes that may be evicted.
func victims(nodes []*v1.Node) []*v1.Pod {
	pods := podsWith("victim", len(nodes)*victimsPerNode, victimCPU, 0)
	for i, pod := range pods {
		pod.Spec.NodeName = nodes[i/victimsPerNode].Name
	}
	return pods
}

func liveGroups() []group {
	var groups []group
	small, large := liveCases(5), liveCases(1)
	for i := range large {
		small[i].quick, small[i].target = true, 0
		groups = append(groups, group{work: []work{small[i].work(), large[i].work()}})
	}
	return groups
}

func (c liveCase) work() work {
	run := func(build newLive) func(context.Context, *meter) (Sample, error) {
		return func(ctx context.Context, m *meter) (Sample, error) {
			sample, _, err := c.measure(ctx, m, build)
			return sample, err
		}
	}
	return work{
		Row: Row{Workload: "live", Case: c.name, Size: c.size, Unit: c.unit, Metric: WallNanos, Target: c.target},
		runs: map[Contender]func(context.Context, *meter) (Sample, error){
			Rouse: run(newRouseLive), KubeScheduler: run(newKubeSchedulerLive),
		},
		quick: c.quick,
	}
}

// measure runs a scheduler until its work is done. It also returns the API as it is then.
func (c liveCase) measure(ctx context.Context, m *meter, build newLive) (_ Sample, _ *memoryAPI, err error) {
	ctx, cancel := context.WithTimeout(ctx, liveTimeout)
	defer cancel()
	api := newMemoryAPI()
	run, err := build(ctx, api)
	if err != nil {
		return nil, nil, err
	}
	nodes := objects.Nodes(c.nodes, basic)
	if err := api.addNodes(nodes); err != nil {
		return nil, nil, err
	}
	if c.present != nil {
		if err := api.addPods(c.present(nodes)); err != nil {
			return nil, nil, err
		}
	}
	submit := c.pods
	if c.first != nil {
		submit = c.first
	}
	if err := api.addPods(submit); err != nil {
		return nil, nil, err
	}
	var running sync.WaitGroup
	var runErr, deliverErr error
	running.Go(func() { deliverErr = api.deliverChanges() })
	if c.first != nil {
		running.Go(func() { runErr = run(ctx) })
		if err := wait(ctx, api.when(func(a *memoryAPI) bool { return a.rejected >= c.reject })); err != nil {
			return nil, nil, err
		}
	}
	m.start()
	if c.first != nil {
		api.create(c.pods)
	} else {
		running.Go(func() { runErr = run(ctx) })
	}
	err = wait(ctx, api.when(func(a *memoryAPI) bool { return a.bound >= c.bound && a.rejected >= c.reject }))
	sample := m.stop(len(c.pods))
	cancel()
	api.close()
	running.Wait()
	return sample, api, errors.Join(err, runErr, deliverErr)
}

func wait(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("the scheduler did not finish its work: %w", ctx.Err())
	}
}
