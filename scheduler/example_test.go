// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler_test

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

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

func node(name, cores string) *v1.Node {
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status: v1.NodeStatus{Allocatable: v1.ResourceList{
			v1.ResourceCPU: resource.MustParse(cores), v1.ResourcePods: resource.MustParse("110"),
		}},
	}
}

// A scheduler needs a client and informers; here both come from a cluster in memory. Without more options it is what
// kube-scheduler is by default.
func Example() {
	client := fake.NewClientset(node("small", "1"), node("large", "8"), &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "1"},
		Spec: v1.PodSpec{
			SchedulerName: v1.DefaultSchedulerName,
			Containers: []v1.Container{{Name: "main", Resources: v1.ResourceRequirements{
				Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("2")},
			}}},
		},
	})
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
