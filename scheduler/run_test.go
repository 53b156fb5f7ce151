// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/rouse-scheduler/rouse/plugins"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/profiles"
	"github.com/rouse-scheduler/rouse/queue"
)

// bindInTracker makes a fake clientset put pods on nodes when they are bound, as the API server does.
func bindInTracker(client *fake.Clientset) {
	client.PrependReactor("create", "pods", func(action clienttesting.Action) (bool, apiruntime.Object, error) {
		if action.GetSubresource() != "binding" {
			return false, nil, nil
		}
		binding := action.(clienttesting.CreateAction).GetObject().(*v1.Binding)
		pods := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
		object, err := client.Tracker().Get(pods, action.GetNamespace(), binding.Name)
		if err != nil {
			return true, nil, err
		}
		pod := object.(*v1.Pod).DeepCopy()
		pod.Spec.NodeName = binding.Target.Name
		return true, binding, client.Tracker().Update(pods, pod, pod.Namespace)
	})
}

// start runs a scheduler against a fake API, with everything that existed before seen, until the test ends or calls the
// result. It must be called in a bubble.
func start(t *testing.T, s *Scheduler, options Options) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	options.Informers.Start(ctx.Done())
	if options.DynamicInformers != nil {
		options.DynamicInformers.Start(ctx.Done())
	}
	limited, unlimit := context.WithTimeout(ctx, time.Minute)
	defer unlimit()
	if err := s.WaitForHandlersSync(limited); err != nil {
		t.Fatal(err)
	}
	synctest.Wait() // until the informers have gone on from listing to watching
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run returned %v", err)
		}
		options.Informers.Shutdown()
		if options.DynamicInformers != nil {
			options.DynamicInformers.Shutdown()
		}
	})
	t.Cleanup(stop)
	return stop
}

// waitForNode returns the node of a pod once it has one, within a minute of the bubble.
func waitForNode(t *testing.T, client *fake.Clientset, name string) string {
	t.Helper()
	for range 60 {
		synctest.Wait()
		pod, err := client.CoreV1().Pods("default").Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if pod.Spec.NodeName != "" {
			return pod.Spec.NodeName
		}
		time.Sleep(time.Second)
	}
	t.Fatalf("pod %s got no node", name)
	return ""
}

func TestRunAgainstInformers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(objects.Node("n1").Capacity("cpu", "4", "memory", "8Gi").Build(), objects.Node("n2").Capacity("cpu", "4", "memory", "8Gi").Build())
		bindInTracker(client)
		for i := range 6 {
			_ = client.Tracker().Add(objects.Pod(fmt.Sprintf("early-%d", i)).Requests("cpu", "1").Build())
		}
		options := Options{Client: client, Informers: NewInformerFactory(client)}
		s, err := New(t.Context(), options)
		if err != nil {
			t.Fatal(err)
		}
		start(t, s, options)
		for i := range 6 {
			waitForNode(t, client, fmt.Sprintf("early-%d", i))
		}
		// Two of eight cores are free, on one node or on both: a pod that wants three has to wait for a new node.
		if _, err := client.CoreV1().Pods("default").Create(t.Context(), objects.Pod("late").Requests("cpu", "3").Build(), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if _, err := client.CoreV1().Nodes().Create(t.Context(), objects.Node("n3").Capacity("cpu", "4", "memory", "8Gi").Build(), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if got := waitForNode(t, client, "late"); got != "n3" {
			t.Errorf("late is on %s, want n3", got)
		}
		for _, action := range client.Actions() {
			if list, ok := action.(clienttesting.ListAction); ok && action.Matches("list", "pods") {
				const want = "status.phase!=Failed,status.phase!=Succeeded"
				if got := list.GetListRestrictions().Fields.String(); got != want {
					t.Errorf("pods are listed with the field selector %q, want %q", got, want)
				}
			}
		}
	})
}

func TestWrongOptionsAreRefused(t *testing.T) {
	client := fake.NewClientset()
	broken := profiles.Default()
	broken.Profiles[0].Plugins.MultiPoint.Enabled = nil
	tests := map[string]Options{
		"no client":    {Informers: NewInformerFactory(client)},
		"no informers": {Client: client},
		"no plugins":   {Client: client, Informers: NewInformerFactory(client), Configuration: broken},
		"no such plugin": {
			Client: client, Informers: NewInformerFactory(client), Configuration: profiles.Default(),
			Registry: plugins.NewInTreeRegistry(),
		},
	}
	delete(tests["no such plugin"].Registry, "NodeAffinity")
	for name, options := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := New(t.Context(), options); err == nil {
				t.Error("New succeeded, want an error")
			}
		})
	}
}

// A scheduler that was given nothing but what it needs works, and says nothing to anybody.
func TestZeroOptionsWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(objects.Node("n1").Capacity("cpu", "4", "memory", "8Gi").Build(), objects.Pod("small").Requests("cpu", "1").Build(), objects.Pod("large").Requests("cpu", "8").Build())
		bindInTracker(client)
		options := Options{Client: client, Informers: NewInformerFactory(client)}
		s, err := New(t.Context(), options)
		if err != nil {
			t.Fatal(err)
		}
		start(t, s, options)
		waitForNode(t, client, "small")
		if status, _ := s.Queue().Lookup("default", "large"); status.Pool != queue.PoolUnschedulable {
			t.Errorf("the pod that fits nowhere is in pool %q", status.Pool)
		}
		large, err := client.CoreV1().Pods("default").Get(t.Context(), "large", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if len(large.Status.Conditions) != 1 {
			t.Errorf("conditions %v, want one", large.Status.Conditions)
		}
	})
}

func TestPodThatIsNeverSeenBoundExpires(t *testing.T) {
	for _, ttl := range []time.Duration{0, time.Minute} {
		t.Run(ttl.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := fake.NewClientset(objects.Node("n1").Capacity("cpu", "1", "memory", "8Gi").Build(), objects.Pod("lost").Requests("cpu", "1").Build())
				// The API confirms bindings, but no pod is ever seen on a node.
				client.PrependReactor("create", "pods", func(clienttesting.Action) (bool, apiruntime.Object, error) {
					return true, nil, nil
				})
				options := Options{Client: client, Informers: NewInformerFactory(client), Timeouts: Timeouts{AssumedPod: ttl}}
				s, err := New(t.Context(), options)
				if err != nil {
					t.Fatal(err)
				}
				start(t, s, options)
				synctest.Wait()
				if err := client.Tracker().Add(objects.Pod("next").Requests("cpu", "1").Build()); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if status, _ := s.Queue().Lookup("default", "next"); status.Pool != queue.PoolUnschedulable {
					t.Fatalf("the second pod is in pool %q, want it to wait for the room of the first", status.Pool)
				}
				time.Sleep(90 * time.Second)
				synctest.Wait()
				for name, want := range map[string]bool{"lost": ttl == 0, "next": ttl != 0} {
					pod := objects.Pod(name).Requests("cpu", "1").Build()
					if assumed, err := s.Cache().IsAssumed(pod); err != nil || assumed != want {
						t.Errorf("%s is assumed: %v, error %v; want %v", name, assumed, err, want)
					}
				}
			})
		})
	}
}
