// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler_test

import (
	"context"
	"fmt"

	"k8s.io/client-go/kubernetes/fake"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/scheduler"
)

// printer says where pods go.
type printer struct {
	scheduler.NopObserver
	bound chan string
}

func (printer) AttemptFailed(failure scheduler.Failure) {
	fmt.Printf("%s: %v\n", failure.Pod.Name, failure.Status.AsError())
}

func (p printer) PodBound(binding scheduler.Binding) {
	p.bound <- fmt.Sprintf("%s runs on %s", binding.Pod.Name, binding.Node)
}

// A scheduler needs a client and informers; here both come from a cluster in memory. Without more options it is what
// kube-scheduler is by default.
func Example() {
	client := fake.NewClientset(objects.Node("small").Capacity("cpu", "1").Build(), objects.Node("large").Capacity("cpu", "8").Build(), objects.Pod("web").Requests("cpu", "2").Build())
	informers := scheduler.NewInformerFactory(client)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	observer := printer{bound: make(chan string, 1)}
	s, err := scheduler.New(ctx, scheduler.Options{Client: client, Informers: informers, Observers: scheduler.Observers{Scheduler: observer}})
	if err != nil {
		fmt.Println(err)
		return
	}

	informers.Start(ctx.Done())
	if err := s.WaitForHandlersSync(ctx); err != nil {
		fmt.Println(err)
		return
	}
	ended := make(chan error)
	go func() { ended <- s.Run(ctx) }()
	fmt.Println(<-observer.bound)

	cancel()
	if err := <-ended; err != nil {
		fmt.Println(err)
	}
	informers.Shutdown()
	// Output: web runs on large
}
