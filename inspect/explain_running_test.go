// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/rouse-scheduler/rouse/inspect"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/scheduler"
	"github.com/rouse-scheduler/rouse/simulate"
)

// running is a running scheduler with an explainer.
type running struct {
	tb        testing.TB
	client    *fake.Clientset
	scheduler *scheduler.Scheduler
	explainer *inspect.LiveExplainer
}

// runScheduler runs a scheduler until the test ends.
func runScheduler(tb testing.TB, objects ...apiruntime.Object) *running {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	w := &running{tb: tb, client: fake.NewClientset(objects...), explainer: inspect.NewLiveExplainer(ctx)}
	w.client.PrependReactor("create", "pods", w.bind)
	options := scheduler.Options{Client: w.client, Informers: scheduler.NewInformerFactory(w.client)}
	w.explainer.Observe(&options)
	var err error
	if w.scheduler, err = scheduler.New(ctx, options); err != nil {
		tb.Fatal(err)
	}
	w.explainer.Watch(w.scheduler)
	options.Informers.StartWithContext(ctx)
	options.Informers.WaitForCacheSyncWithContext(ctx)
	if err := w.scheduler.WaitForHandlersSync(ctx); err != nil {
		tb.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		if err := w.scheduler.Run(ctx); err != nil {
			tb.Error(err)
		}
	})
	tb.Cleanup(func() {
		cancel()
		running.Wait()
		options.Informers.Shutdown()
		if err := w.explainer.Close(); err != nil {
			tb.Error(err)
		}
	})
	return w
}

// bind does what the API server does with a binding.
func (w *running) bind(action clienttesting.Action) (bool, apiruntime.Object, error) {
	created := action.(clienttesting.CreateAction)
	binding, ok := created.GetObject().(*v1.Binding)
	if !ok {
		return false, nil, nil
	}
	pods := v1.SchemeGroupVersion.WithResource("pods")
	object, err := w.client.Tracker().Get(pods, created.GetNamespace(), binding.Name)
	if err != nil {
		return true, nil, err
	}
	bound := object.(*v1.Pod).DeepCopy()
	bound.Spec.NodeName = binding.Target.Name
	return true, binding, w.client.Tracker().Update(pods, bound, bound.Namespace)
}

// runningNode is a node for three pods.
func runningNode(i int) *v1.Node {
	return objects.Node(fmt.Sprint("n", i)).Capacity("cpu", "4", "pods", "3").Build()
}

// runningPod is a pod that will not be on a node with another such.
func runningPod(i int) *v1.Pod {
	return objects.Pod(fmt.Sprint("p", i)).Label("app", "web").PodAntiAffinity(v1.LabelHostname, "app=web").Build()
}

// TestExplainWhileSchedulerRuns is for the race detector too: pods come, are explained all the time, and get nodes.
func TestExplainWhileSchedulerRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const pods = 30
		w := runScheduler(t)
		seen := map[simulate.Pool]int{}
		ask := func(i int) *inspect.Explanation {
			explanation, err := w.explainer.Explain(t.Context(), "default", fmt.Sprint("p", i), 2)
			if missing := new(inspect.NoSuchPodError); errors.As(err, &missing) {
				return nil // the informer does not have it yet
			}
			if err != nil {
				t.Fatal(err)
			}
			seen[explanation.Pool]++
			return explanation
		}
		for i := range pods {
			if _, err := w.client.CoreV1().Pods("default").Create(t.Context(), runningPod(i), metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			if i%2 == 0 {
				if _, err := w.client.CoreV1().Nodes().Create(t.Context(), runningNode(i), metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			for earlier := range i + 1 {
				ask(earlier)
			}
			time.Sleep(time.Second)
		}
		time.Sleep(time.Minute) // longer than any backoff
		synctest.Wait()
		clear(seen)
		for i := range pods {
			explanation := ask(i)
			const reason = "node(s) didn't match pod anti-affinity rules"
			if explanation.Pool == simulate.PoolUnschedulable && (explanation.AllNodes != pods/2 || explanation.Nodes[0].BlockerCount != 1 ||
				explanation.RejectedBy[0].Reasons[0].Reason != reason || !strings.Contains(explanation.Message, reason)) {
				t.Errorf("pod %d waits, which is explained by %+v", i, explanation)
			}
		}
		if seen[simulate.PoolBound] != pods/2 || seen[simulate.PoolUnschedulable] != pods/2 {
			t.Errorf("in the end the pods are %v, want half of them bound and half unschedulable", seen)
		}
	})
}

// BenchmarkExplain asks about a pod that waits among 5,000 nodes.
func BenchmarkExplain(b *testing.B) {
	objects := []apiruntime.Object{runningPod(0)}
	for i := range 5000 {
		node := runningNode(i)
		node.Spec.Unschedulable = true
		objects = append(objects, node)
	}
	w := runScheduler(b, objects...)
	for w.scheduler.Queue().Stats().Unschedulable == 0 { // it is being tried
		goruntime.Gosched()
	}
	b.ReportAllocs()
	for b.Loop() {
		explanation, err := w.explainer.Explain(b.Context(), "default", "p0", inspect.DefaultNodes)
		if err != nil || explanation.AllNodes != 5000 {
			b.Fatalf("explained by %+v, %v", explanation, err)
		}
	}
}
