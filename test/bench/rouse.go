// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	basemetrics "k8s.io/component-base/metrics"

	"github.com/rouse-scheduler/rouse/plugins"
	"github.com/rouse-scheduler/rouse/runtime"
	"github.com/rouse-scheduler/rouse/scheduler"
	"github.com/rouse-scheduler/rouse/scheduler/metrics"
)

// rouseDecider makes decisions with Rouse. The informers are never started, and what would bind the pods is dropped.
type rouseDecider struct {
	*scheduler.Scheduler
	cancel context.CancelFunc
	// waiting are the pods in the queue, in the order in which they will be popped.
	waiting []*v1.Pod
	// bindings counts the binding cycles that would have been started.
	bindings int
}

func newRouseDecider(ctx context.Context, s settings) (decider, error) {
	client := fake.NewClientset()
	return newRouseDeciderOn(ctx, s, client, scheduler.NewInformerFactoryWith(client, scheduler.InformerOptions{TrimPods: true}))
}

func newRouseDeciderOn(
	ctx context.Context, s settings, client clientset.Interface, factory informers.SharedInformerFactory,
) (*rouseDecider, error) {
	configuration, err := s.forRouse()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	d := &rouseDecider{cancel: cancel}
	registry := plugins.NewInTreeRegistry()
	if err := registry.Register(outOfTreeName, newOutOfTreePlugin); err != nil {
		cancel()
		return nil, err
	}
	d.Scheduler, err = newMeasuredRouse(ctx, scheduler.Options{
		Configuration: configuration,
		Registry:      registry,
		Client:        client,
		Informers:     factory,
		Execution:     runtime.Execution{Go: func(func()) { d.bindings++ }},
	})
	if err != nil {
		cancel()
		return nil, err
	}
	return d, nil
}

// newMeasuredRouse makes a scheduler with the metrics that the rouse binary has, as kube-scheduler always has its own.
func newMeasuredRouse(ctx context.Context, options scheduler.Options) (*scheduler.Scheduler, error) {
	measured, err := metrics.New(basemetrics.NewKubeRegistry().Register, metrics.Options{})
	if err != nil {
		return nil, err
	}
	measured.Attach(&options)
	s, err := scheduler.New(ctx, options)
	if err != nil {
		return nil, err
	}
	go measured.Run(ctx, s.Cache().Counts)
	return s, nil
}

func (d *rouseDecider) addNodes(nodes []*v1.Node) error {
	for _, node := range nodes {
		if err := d.Cache().AddNode(node); err != nil {
			return err
		}
	}
	return nil
}

func (d *rouseDecider) updateNode(_, updated *v1.Node) error { return d.Cache().UpdateNode(updated) }

func (d *rouseDecider) addPod(pod *v1.Pod) error { return d.Cache().AddPod(pod) }

func (d *rouseDecider) enqueue(_ context.Context, pod *v1.Pod) {
	d.Queue().Add(pod)
	d.waiting = append(d.waiting, pod)
}

// decide runs the scheduling cycle up to where the binding cycle would start. Done is what that cycle would call.
func (d *rouseDecider) decide(ctx context.Context) error {
	before := d.bindings
	if !d.TryScheduleOne(ctx) {
		return errors.New("no pod is ready to be tried")
	}
	pod := d.waiting[0]
	d.waiting = d.waiting[1:]
	if d.bindings != before+1 {
		return fmt.Errorf("pod %s got no node", pod.Name)
	}
	d.Queue().Done(pod.UID)
	return nil
}

func (d *rouseDecider) nodeOf(pod *v1.Pod) (string, error) {
	cached, err := d.Cache().Pod(pod)
	if err != nil {
		return "", err
	}
	return cached.Spec.NodeName, nil
}

func (d *rouseDecider) close() {
	d.Queue().Close()
	d.cancel()
}
