// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/rouse-scheduler/rouse/app"
	"github.com/rouse-scheduler/rouse/plugins"
	"github.com/rouse-scheduler/rouse/profiles"
	"github.com/rouse-scheduler/rouse/scheduler"

	"example.com/gangscheduler/gang"
	"example.com/gangscheduler/quota"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// TestScenarios plays the scenarios as they are played on the command line. What they expect is in the files.
func TestScenarios(t *testing.T) {
	for _, scenario := range []string{"gangs.yaml", "quota.yaml"} {
		t.Run(scenario, func(t *testing.T) {
			command := app.NewSchedulerCommand(options()...)
			var output bytes.Buffer
			command.SetOut(&output)
			command.SetErr(&output)
			command.SetArgs([]string{"simulate", scenario, "--config", "scheduler.yaml"})
			if err := command.ExecuteContext(t.Context()); err != nil {
				t.Fatalf("simulate %s: %v\n%s", scenario, err, &output)
			}
		})
	}
}

// cluster is a running scheduler with both plugins, on an API in memory.
type cluster struct {
	scheduler.NopObserver
	t        *testing.T
	client   *fake.Clientset
	attempts atomic.Int64
}

func (c *cluster) AttemptStarted(*v1.Pod, int) { c.attempts.Add(1) }

// run starts a scheduler that runs until the test ends; it must be called in a bubble of synctest.
func run(t *testing.T, objects ...apiruntime.Object) *cluster {
	t.Helper()
	c := &cluster{t: t, client: fake.NewClientset(objects...)}
	c.client.PrependReactor("create", "pods", c.bind)
	registry := plugins.NewInTreeRegistry()
	for _, option := range options() {
		if err := option(registry); err != nil {
			t.Fatal(err)
		}
	}
	configuration, err := profiles.Load("scheduler.yaml", profiles.Options{})
	if err != nil {
		t.Fatal(err)
	}
	informers := scheduler.NewInformerFactory(c.client)
	ctx, cancel := context.WithCancel(t.Context())
	s, err := scheduler.New(ctx, scheduler.Options{
		Client: c.client, Informers: informers, Registry: registry, Configuration: configuration,
		Observers: scheduler.Observers{Scheduler: c},
	})
	if err != nil {
		t.Fatal(err)
	}
	informers.Start(ctx.Done())
	if err := s.WaitForHandlersSync(ctx); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		informers.Shutdown()
	})
	return c
}

// bind puts a pod on a node, as the API server does.
func (c *cluster) bind(action clienttesting.Action) (bool, apiruntime.Object, error) {
	if action.GetSubresource() != "binding" {
		return false, nil, nil
	}
	binding := action.(clienttesting.CreateAction).GetObject().(*v1.Binding)
	pods := v1.SchemeGroupVersion.WithResource("pods")
	object, err := c.client.Tracker().Get(pods, action.GetNamespace(), binding.Name)
	if err != nil {
		return true, nil, err
	}
	pod := object.(*v1.Pod).DeepCopy()
	pod.Spec.NodeName = binding.Target.Name
	return true, binding, c.client.Tracker().Update(pods, pod, pod.Namespace)
}

// pass lets time pass, and returns how many attempts were made meanwhile.
func (c *cluster) pass(duration time.Duration) int {
	before := c.attempts.Load()
	time.Sleep(duration) // of the bubble
	synctest.Wait()
	return int(c.attempts.Load() - before)
}

// bound returns the names of the pods that have a node.
func (c *cluster) bound() map[string]bool {
	c.t.Helper()
	pods, err := c.client.CoreV1().Pods("default").List(c.t.Context(), metav1.ListOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	names := map[string]bool{}
	for _, pod := range pods.Items {
		if pod.Spec.NodeName != "" {
			names[pod.Name] = true
		}
	}
	return names
}

func (c *cluster) create(objects ...apiruntime.Object) {
	c.t.Helper()
	for _, object := range objects {
		if err := c.client.Tracker().Add(object); err != nil {
			c.t.Fatal(err)
		}
	}
}

func ofTeam(team string, i int) *v1.Pod {
	return objects.Pod(fmt.Sprintf("%s-%d", team, i)).Requests("cpu", "1").Label(quota.TeamLabel, team).Build()
}

func gangOf(name string, size int) []apiruntime.Object {
	var pods []apiruntime.Object
	for i := range size {
		pods = append(pods, objects.Pod(fmt.Sprintf("%s-%d", name, i)).Requests("cpu", "1").Label(gang.Label, name).Label(gang.SizeLabel, fmt.Sprint(size)).Build())
	}
	return pods
}

func TestGangThatFits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := run(t, objects.Node("n1").Capacity("cpu", "2").Build(), objects.Node("n2").Capacity("cpu", "1").Build())
		c.create(gangOf("a", 3)...)
		attempts := c.pass(10 * time.Second)
		if bound := c.bound(); len(bound) != 3 {
			t.Errorf("after %d attempts %v are bound, want all three", attempts, bound)
		}
		if attempts > 6 {
			t.Errorf("%d attempts, want at most two for each pod", attempts)
		}
	})
}

// TestGangThatDoesNotFit: each failure of the gang wakes all of its pods. They must not be tried without a pause, and be
// bound when there is room.
func TestGangThatDoesNotFit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := run(t, objects.Node("n1").Capacity("cpu", "2").Build())
		c.create(gangOf("a", 3)...)
		const minutes = 5
		attempts := c.pass(minutes * time.Minute)
		t.Logf("%.2f attempts a second", float64(attempts)/(minutes*60))
		if attempts < minutes*6 || attempts > minutes*60*2 {
			t.Errorf("%d attempts in %d minutes, want some, and at most two a second", attempts, minutes)
		}
		if bound := c.bound(); len(bound) > 0 {
			t.Errorf("%v are bound, want none", bound)
		}
		c.create(objects.Node("n2").Capacity("cpu", "1").Build())
		c.pass(30 * time.Second)
		if bound := c.bound(); len(bound) != 3 {
			t.Errorf("with another node %v are bound, want all three", bound)
		}
	})
}

func TestBorrowerIsPreempted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var existing []apiruntime.Object
		for i, created := range []time.Time{time.Unix(1, 0), time.Unix(3, 0), time.Unix(2, 0)} {
			shop := ofTeam("shop", i)
			shop.CreationTimestamp, shop.Spec.NodeName = metav1.NewTime(created), "n1"
			existing = append(existing, shop)
		}
		c := run(t, append(existing, objects.Node("n1").Capacity("cpu", "3").Build())...)
		c.create(ofTeam("mail", 0))
		attempts := c.pass(time.Minute)
		if bound := c.bound(); len(bound) != 3 || !bound["mail-0"] || bound["shop-1"] {
			t.Errorf("after %d attempts %v are bound, want mail-0 in place of shop-1, the youngest", attempts, bound)
		}
		c.create(ofTeam("mail", 1))
		attempts = c.pass(time.Minute)
		if bound := c.bound(); len(bound) != 3 || bound["mail-1"] || attempts > 10 {
			t.Errorf("after %d attempts %v are bound, want no pod preempted for a pod beyond the guarantee", attempts, bound)
		}
	})
}
