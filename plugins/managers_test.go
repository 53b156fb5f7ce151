// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package plugins_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/profiles"
	"github.com/rouse-scheduler/rouse/runtime"
)

// A framework outside of package scheduler, such as that of an autoscaler, places pods with resource claims.
func ExampleNewManagers() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	client := fake.NewClientset(objects.DeviceClass("gpu"), objects.ResourceSlice("gpu.example.com", "n1", "gpu-0"),
		objects.ResourceClaim("training").Request("gpus", "gpu", 1).Build())
	factory := informers.NewSharedInformerFactory(client, 0)
	managers, wait, err := plugins.NewManagers(ctx, factory, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	built, err := runtime.NewFramework(ctx, plugins.NewInTreeRegistry(), profiles.DefaultProfile("default-scheduler"), runtime.Options{
		Clients:  runtime.Clients{ClientSet: client, InformerFactory: factory},
		Managers: managers,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer built.Close()
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	if err := wait(ctx); err != nil {
		fmt.Println(err)
		return
	}

	pod := objects.Pod("train").ResourceClaim("training").Build()
	state := framework.NewCycleState()
	if _, status, _ := built.RunPreFilterPlugins(ctx, state, pod); !status.IsSuccess() {
		fmt.Println(status.Message())
		return
	}
	for _, name := range []string{"n1", "n2"} {
		node := framework.NewNodeInfo()
		node.SetNode(objects.Node(name).Capacity("cpu", "4", "pods", "10").Build())
		fmt.Printf("%s: %q\n", name, built.RunFilterPlugins(ctx, state, pod, node).Message())
	}
	// Output:
	// n1: ""
	// n2: "cannot allocate all claims"
}

// A handler of an informer may still be at work when the cache has synced. Who waits for the managers sees what it brings.
func TestNewManagersWaitsForHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		client := fake.NewClientset(objects.ResourceSlice("gpu.example.com", "n1", "gpu-0"))
		factory := informers.NewSharedInformerFactory(client, 0)
		held := make(chan struct{})
		_, wait, err := plugins.NewManagers(ctx, factory, func(string) { <-held })
		if err != nil {
			t.Fatal(err)
		}
		factory.Start(ctx.Done())
		factory.WaitForCacheSync(ctx.Done())
		short, end := context.WithTimeout(ctx, time.Minute)
		defer end()
		if err := wait(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("while a handler is at work: got %v, want %v", err, context.DeadlineExceeded)
		}
		close(held)
		if err := wait(ctx); err != nil {
			t.Error(err)
		}
		stop()
		factory.Shutdown()
	})
}
