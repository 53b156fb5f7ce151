// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	basemetrics "k8s.io/component-base/metrics"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugins"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/profiles"
	"github.com/rouse-scheduler/rouse/scheduler"
	"github.com/rouse-scheduler/rouse/scheduler/metrics"
)

// cluster is a scheduler with the default profile and the plugin patience, measured, on an API in memory.
type cluster struct {
	*fixture
	client *fake.Clientset
}

// patience has pods with the label "patience" wait for permission, for a second.
type patience struct{ handle fwk.Handle }

func (patience) Name() string { return "Patience" }

func (p patience) Permit(_ context.Context, _ fwk.CycleState, pod *v1.Pod, _ string) (*fwk.Status, time.Duration) {
	if pod.Labels["patience"] == "" {
		return nil, 0
	}
	time.AfterFunc(time.Second, func() { p.handle.GetWaitingPod(pod.UID).Allow("Patience") })
	return fwk.NewStatus(fwk.Wait), time.Minute
}

// run starts a cluster; it must be called in a bubble of synctest.
func run(t *testing.T, objects ...apiruntime.Object) *cluster {
	t.Helper()
	c := &cluster{fixture: newFixture(t, metrics.Options{}), client: fake.NewClientset(objects...)}
	c.client.PrependReactor("create", "pods", c.bind)
	options := scheduler.Options{Client: c.client, Informers: scheduler.NewInformerFactory(c.client)}
	options.Registry, options.Configuration = plugins.NewInTreeRegistry(), profiles.Default()
	options.Registry["Patience"] = func(_ context.Context, _ apiruntime.Object, handle fwk.Handle) (fwk.Plugin, error) {
		return patience{handle}, nil
	}
	multiPoint := &options.Configuration.Profiles[0].Plugins.MultiPoint
	multiPoint.Enabled = append(multiPoint.Enabled, configv1.Plugin{Name: "Patience"})
	c.Attach(&options)
	ctx, cancel := context.WithCancel(context.Background())
	s, err := scheduler.New(ctx, options)
	if err != nil {
		t.Fatal(err)
	}
	options.Informers.Start(ctx.Done())
	if err := s.WaitForHandlersSync(ctx); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	go c.Run(ctx, s.Cache().Counts)
	synctest.Wait() // the client may be given other answers only while it has no request
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		options.Informers.Shutdown()
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

// create creates pods one after the other, and gives the scheduler time for each.
func (c *cluster) create(pods ...*v1.Pod) {
	c.t.Helper()
	for _, pod := range pods {
		if _, err := c.client.CoreV1().Pods("default").Create(c.t.Context(), pod, metav1.CreateOptions{}); err != nil {
			c.t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
	}
}

func (c *cluster) label(node string, labels map[string]string) {
	c.t.Helper()
	found, err := c.client.CoreV1().Nodes().Get(c.t.Context(), node, metav1.GetOptions{})
	if err == nil {
		found.Labels = labels
		_, err = c.client.CoreV1().Nodes().Update(c.t.Context(), found, metav1.UpdateOptions{})
	}
	if err != nil {
		c.t.Fatal(err)
	}
	time.Sleep(5 * time.Second)
	synctest.Wait()
}

// storage is a class and a claim whose volume is made when there is a node for it.
func storage() []apiruntime.Object {
	return []apiruntime.Object{
		objects.StorageClass("late", "example.com/disks", storagev1.VolumeBindingWaitForFirstConsumer),
		objects.PersistentVolumeClaim("data").StorageClass("late").Request("1Gi").Build(),
	}
}

// TestClusterIsMeasured has everything happen to the pods of a small cluster that is measured, and looks at the result.
// Whether the failed attempt of a preemptor or the end of its victim comes first is left open.
func TestClusterIsMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := run(t, append(storage(), objects.Node("n1").Capacity("cpu", "4").Build(), objects.Node("n2").Capacity("cpu", "1").Build())...)
		c.client.PrependReactor("update", "persistentvolumeclaims", func(clienttesting.Action) (bool, apiruntime.Object, error) {
			return true, nil, errors.New("the server is on fire")
		})
		c.create(
			objects.Pod("patient").Requests("cpu", "1").Label("patience", "yes").Build(),
			objects.Pod("small").Requests("cpu", "3").Build(),
			objects.Pod("large").Requests("cpu", "3").Priority(100).Build(), // evicts small
			objects.Pod("gated").Requests("cpu", "1").SchedulingGate("wait").Build(),
			objects.Pod("picky").Requests("cpu", "10m").NodeSelector("disk", "fast").Build(),
			objects.Pod("database").Requests("cpu", "10m").PersistentVolumeClaim("data").Build(),
		)
		c.label("n2", map[string]string{"disk": "fast"}) // for picky
		c.checkAttempts()
		c.checkQueue()
		c.checkPlugins()
		for _, definition := range metrics.Definitions() {
			name := strings.TrimPrefix(definition.Name, "scheduler_")
			if series := c.values(name); definition.Stability == basemetrics.STABLE && !slices.ContainsFunc(series, counted) {
				t.Errorf("%s is %q, want something measured", name, series)
			}
		}
	})
}

func counted(series string) bool {
	return !strings.HasSuffix(series, ": 0") && !strings.HasSuffix(series, "0 in 0") && series != "0"
}

// check compares the series of a metric.
func (c *cluster) check(metric string, want ...string) {
	c.t.Helper()
	if diff := cmp.Diff(want, c.values(metric)); diff != "" {
		c.t.Errorf("%s (-want +got):\n%s", metric, diff)
	}
}

// has checks that some series of a metric have some values.
func (c *cluster) has(metric string, want ...string) {
	c.t.Helper()
	for _, series := range want {
		hasSeries(c.t, c.fixture, metric, series)
	}
}

// contains checks that a metric has some series, with values in whatever they are.
func (c *cluster) contains(metric string, want ...string) {
	c.t.Helper()
	got := c.values(metric)
	for _, series := range want {
		if !slices.ContainsFunc(got, func(line string) bool { return strings.HasPrefix(line, series+": ") && counted(line) }) {
			c.t.Errorf("%s lacks %q, or it is zero; it has %q", metric, series, got)
		}
	}
}

func (c *cluster) checkAttempts() {
	c.t.Helper()
	c.check("schedule_attempts_total",
		"error default-scheduler: 3",         // database, whose claim cannot be written
		"scheduled default-scheduler: 4",     // patient, small, large, picky
		"unschedulable default-scheduler: 2", // large and picky, at first
	)
	c.check("scheduling_attempt_duration_seconds",
		"error default-scheduler: 3 in 0", "scheduled default-scheduler: 4 in 1", "unschedulable default-scheduler: 2 in 0")
	c.check("scheduling_algorithm_duration_seconds", "9 in 0")
	c.check("pod_scheduling_attempts", "4 in 6")
	c.check("pod_scheduling_sli_duration_seconds", "1: 2 in 1", "2: 2 in 4")
	c.check("pod_scheduled_after_flush_total", "0")
	c.check("permit_wait_duration_seconds", "Success: 1 in 1")
	c.check("cache_size", "assumed_pods: 0", "nodes: 2", "pods: 3")
	c.contains("event_handling_duration_seconds", "AssignedPodAdd", "AssignedPodDelete", "NodeAdd", "NodeUpdateNodeLabel",
		"PersistentVolumeClaimAdd", "UnscheduledPodAdd", "storage.k8s.io/StorageClassAdd")
}

func (c *cluster) checkQueue() {
	c.t.Helper()
	c.check("pending_pods", "active: 0", "backoff: 1", "gated: 1", "incomplete: 0", "pending: 0", "unschedulable: 0")
	c.check("queued_entities", "active pod: 0", "backoff pod: 1", "gated pod: 1", "unschedulable pod: 0")
	c.has("queue_incoming_pods_total", "active UnscheduledPodAdd: 5", "unschedulable UnscheduledPodAdd: 1", "active NodeUpdateNodeLabel: 1",
		"active PopFromBackoffQ: 1", "active BackoffComplete: 2")
	c.contains("queue_incoming_pods_total", "backoff ScheduleAttemptFailure", "unschedulable ScheduleAttemptFailure")
	c.check("unschedulable_pods",
		"DefaultPreemption default-scheduler: 0", "NodeAffinity default-scheduler: 0", "NodeResourcesFit default-scheduler: 0", "SchedulingGates default-scheduler: 1")
	c.has("inflight_events", "PodPopped: 0")
	c.has("queueing_hint_execution_duration_seconds", "NodeAffinity NodeUpdateNodeLabel Queue: 1 in 0")
}

func (c *cluster) checkPlugins() {
	c.t.Helper()
	for _, series := range []string{
		"Bind Success", "Filter Success", "Permit Success", "Permit Wait", "PostBind Success", "PostFilter Success",
		"PostFilter Unschedulable", "PreBind Error", "PreBindPreFlight Skip", "PreBindPreFlight Success", "PreEnqueue Success",
		"PreFilter Success", "PreScore Success", "Reserve Success", "Unreserve Success",
	} {
		c.contains("framework_extension_point_duration_seconds", series+" default-scheduler")
	}
	for _, series := range []string{"NodeResourcesFit PreFilter", "NodeResourcesFit Filter", "NodeResourcesFit Score", "VolumeBinding PreScore"} {
		c.contains("plugin_evaluation_total", series+" default-scheduler")
	}
	c.has("plugin_evaluation_total", "NodePorts Filter default-scheduler: 0") // it never had anything to say
	c.check("preemption_attempts_total", "2")
	c.check("preemption_victims", "1 in 1")
	c.check("preemption_goroutines_execution_total", "success: 1")
	c.check("volume_scheduling_stage_error_total", "bind: 3")
	c.has("goroutines", "DefaultPreemption: 0", "binding: 0")
}
