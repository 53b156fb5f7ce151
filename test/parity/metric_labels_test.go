// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	basemetrics "k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
	upstreamscheduler "k8s.io/kubernetes/pkg/scheduler"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/scheduler"
	"github.com/rouse-scheduler/rouse/scheduler/metrics"
)

// TestMetricsHaveTheSameLabels plays one history to both schedulers and compares which series they have afterwards, and of
// event_handling_duration_seconds how many samples, for the metrics whose labels depend on what happened and not on how
// often a plugin had to be asked. Gauges that are zero don't count: Rouse shows all of them from the beginning.
func TestMetricsHaveTheSameLabels(t *testing.T) {
	compared := sets.New(
		"scheduler_event_handling_duration_seconds", "scheduler_queue_incoming_pods_total", "scheduler_pending_pods",
		"scheduler_schedule_attempts_total", "scheduler_scheduling_attempt_duration_seconds", "scheduler_scheduler_cache_size",
		"scheduler_pod_scheduling_sli_duration_seconds", "scheduler_unschedulable_pods", "scheduler_queued_entities",
	)
	// kube-scheduler listens for a signal, for which the process starts a goroutine that must not be part of a bubble.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR2)
	defer signal.Stop(signals)
	var got, want []string
	synctest.Test(t, func(t *testing.T) { got = rouseSeries(t, compared) })
	synctest.Test(t, func(t *testing.T) { want = kubeSchedulerSeries(t, compared) })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("series after the same history (-kube-scheduler +Rouse):\n%s", diff)
	}
}

func rouseSeries(t *testing.T, compared sets.Set[string]) []string {
	client := newMetricsClient()
	options := scheduler.Options{Client: client, Informers: scheduler.NewInformerFactory(client)}
	registry := basemetrics.NewKubeRegistry()
	measured, err := metrics.New(registry.Register, metrics.Options{})
	if err != nil {
		t.Fatal(err)
	}
	measured.Attach(&options)
	ctx, cancel := context.WithCancel(t.Context())
	s, err := scheduler.New(ctx, options)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	playMetrics(ctx, t, client, options.Informers, func() {
		go func() { ended <- s.Run(ctx) }()
		go measured.Run(ctx, s.Cache().Counts)
	})
	series := seriesOf(t, registry, compared)
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	options.Informers.Shutdown()
	return series
}

func kubeSchedulerSeries(t *testing.T, compared sets.Set[string]) []string {
	client := newMetricsClient()
	factory := upstreamscheduler.NewInformerFactory(client, 0, nil)
	ctx, cancel := context.WithCancel(t.Context())
	s, err := upstreamscheduler.New(ctx, client, factory, nil, func(string) events.EventRecorderLogger { return &events.FakeRecorder{} })
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	playMetrics(ctx, t, client, factory, func() {
		go func() {
			s.Run(ctx)
			close(ended)
		}()
	})
	series := seriesOf(t, legacyregistry.DefaultGatherer, compared)
	cancel()
	<-ended
	factory.Shutdown()
	return series
}

func newMetricsClient() *fake.Clientset {
	client := fake.NewClientset()
	client.PrependReactor("create", "pods", func(action clienttesting.Action) (bool, apiruntime.Object, error) {
		if action.GetSubresource() != "binding" {
			return false, nil, nil
		}
		binding := action.(clienttesting.CreateAction).GetObject().(*v1.Binding)
		pods := v1.SchemeGroupVersion.WithResource("pods")
		object, err := client.Tracker().Get(pods, action.GetNamespace(), binding.Name)
		if err != nil {
			return true, nil, err
		}
		pod := object.(*v1.Pod).DeepCopy()
		pod.Spec.NodeName, pod.ResourceVersion = binding.Target.Name, pod.ResourceVersion+"1"
		return true, binding, client.Tracker().Update(pods, pod, pod.Namespace)
	})
	return client
}

// playMetrics starts a scheduler and has things happen to pods and nodes: each kind of change of each, one at a time.
func playMetrics(ctx context.Context, t *testing.T, client *fake.Clientset, factory informers.SharedInformerFactory, start func()) {
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	synctest.Wait()
	start()
	pods, nodes := client.CoreV1().Pods("default"), client.CoreV1().Nodes()
	node := metricsNode()
	large, small := metricsPod("large", "8"), metricsPod("small", "1")
	gated := metricsPod("gated", "1")
	gated.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "example.com/gate"}}
	update := func(pod *v1.Pod, change func()) func() error {
		return func() error {
			change()
			pod.ResourceVersion += "1"
			_, err := pods.Update(ctx, pod, metav1.UpdateOptions{})
			return err
		}
	}
	create := func(pod *v1.Pod) func() error {
		return func() error { _, err := pods.Create(ctx, pod, metav1.CreateOptions{}); return err }
	}
	updateNode := func(change func()) func() error {
		return func() error {
			change()
			_, err := nodes.Update(ctx, node, metav1.UpdateOptions{})
			return err
		}
	}
	placed := metricsPod("small", "1")
	placed.Spec.NodeName = "n1"
	steps := []func() error{
		func() error { _, err := nodes.Create(ctx, node, metav1.CreateOptions{}); return err },
		create(large), create(small), create(gated),
		update(large, func() { large.Labels = map[string]string{"a": "b"} }),
		update(large, func() { large.Spec.Tolerations = []v1.Toleration{{Key: "x", Operator: v1.TolerationOpExists}} }),
		update(large, func() { large.Spec.Containers[0].Resources.Requests[v1.ResourceCPU] = resource.MustParse("7") }),
		update(large, func() { large.Annotations = map[string]string{"a": "b"} }),
		update(placed, func() { placed.Labels = map[string]string{"a": "b"} }),
		update(placed, func() { placed.Annotations = map[string]string{"a": "b"} }),
		updateNode(func() { node.Labels["a"] = "b" }),
		updateNode(func() { node.Spec.Taints = []v1.Taint{{Key: "x", Effect: v1.TaintEffectNoSchedule}} }),
		updateNode(func() { node.Status.Allocatable[v1.ResourceCPU] = resource.MustParse("5") }),
		update(gated, func() { gated.Spec.SchedulingGates = nil }),
		func() error { return pods.Delete(ctx, "small", metav1.DeleteOptions{}) },
		func() error { return pods.Delete(ctx, "large", metav1.DeleteOptions{}) },
		func() error { return nodes.Delete(ctx, "n1", metav1.DeleteOptions{}) },
	}
	for i, step := range steps {
		if err := step(); err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
		time.Sleep(15 * time.Second) // of the bubble: longer than any backoff
		synctest.Wait()
	}
}

func metricsNode() *v1.Node {
	return objects.Node("n1").Capacity("cpu", "4", "memory", "8Gi").Build()
}

func metricsPod(name, cpu string) *v1.Pod {
	return objects.PodFrom(objects.Pod(name).Requests("cpu", cpu).Build()).Build()
}

type gatherer interface {
	Gather() ([]*dto.MetricFamily, error)
}

// seriesOf returns the series of some metrics as name{label=value}.
func seriesOf(t *testing.T, from gatherer, compared sets.Set[string]) []string {
	t.Helper()
	families, err := from.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var series []string
	for _, family := range families {
		if !compared.Has(family.GetName()) {
			continue
		}
		for _, metric := range family.GetMetric() {
			if metric.GetGauge() != nil && metric.GetGauge().GetValue() == 0 {
				continue
			}
			var labels []string
			for _, label := range metric.GetLabel() {
				labels = append(labels, label.GetName()+"="+label.GetValue())
			}
			samples := ""
			if family.GetName() == "scheduler_event_handling_duration_seconds" {
				samples = fmt.Sprintf(" %d", metric.GetHistogram().GetSampleCount())
			}
			series = append(series, strings.TrimPrefix(family.GetName(), "scheduler_")+"{"+strings.Join(labels, ",")+"}"+samples)
		}
	}
	slices.Sort(series)
	return series
}
