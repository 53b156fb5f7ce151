// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package defaultpreemption

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/ptr"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugins/noderesourcesfit"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/runtime"
)

// pod returns a pod with a priority that requests CPUs.
func pod(name string, priority int32, cpu string, changes ...func(*v1.Pod)) *v1.Pod {
	return objects.Pod(name).Priority(priority).Requests("cpu", cpu).With(changes...).Build()
}

func on(name string) func(*v1.Pod) { return func(pod *v1.Pod) { pod.Spec.NodeName = name } }

func node(name, cpu string) *v1.Node {
	return objects.Node(name).Capacity("cpu", cpu, "memory", "64Gi").Build()
}

// cluster is a cluster where NodeResourcesFit and DefaultPreemption run, with a list of the tasks that were started.
type cluster struct {
	*fixture.Cluster
	client *fake.Clientset
	tasks  []func()
}

func newCluster(t *testing.T, args *configv1.DefaultPreemptionArgs, objects ...apiruntime.Object) *cluster {
	t.Helper()
	return newClusterWith(t, New, args, objects...)
}

func newClusterWith(t *testing.T, factory runtime.PluginFactory, args *configv1.DefaultPreemptionArgs, objects ...apiruntime.Object) *cluster {
	t.Helper()
	w := &cluster{client: fake.NewClientset(objects...)}
	options := fixture.ClusterOptions{
		Registry: runtime.Registry{
			noderesourcesfit.Name: noderesourcesfit.New,
			Name:                  factory,
		},
		Plugins:     []string{noderesourcesfit.Name, Name},
		Objects:     objects,
		Client:      w.client,
		Parallelism: 1,
		Go:          func(task func()) { w.tasks = append(w.tasks, task) },
	}
	if args != nil {
		options.Args = map[string]apiruntime.Object{Name: args}
	}
	w.Cluster = fixture.NewCluster(t, options)
	return w
}

func (w *cluster) runTasks() {
	for _, task := range w.tasks {
		task()
	}
	w.tasks = nil
}

// TestPostFilter goes through the framework, as a scheduling cycle does; what preemption comes to has tests of its own.
func TestPostFilter(t *testing.T) {
	never := func(pod *v1.Pod) { pod.Spec.PreemptionPolicy = ptr.To(v1.PreemptNever) }
	tests := []struct {
		name       string
		pod        *v1.Pod
		objects    []apiruntime.Object
		code       fwk.Code
		message    string
		nomination *fwk.NominatingInfo // nil: there is no result
	}{
		{
			"success", pod("p", 10, "2"),
			[]apiruntime.Object{node("a", "2"), pod("v", 1, "1", on("a")), pod("w", 2, "1", on("a"))},
			fwk.Success, "preemption: found a potential placement for pod on node a, preempting 2 victims",
			&fwk.NominatingInfo{NominatingMode: fwk.ModeOverride, NominatedNodeName: "a"},
		},
		{
			"nothing helps", pod("p", 10, "2"),
			[]apiruntime.Object{node("a", "2"), pod("v", 10, "1", on("a")), node("b", "1")},
			fwk.Unschedulable,
			"preemption: 0/2 nodes are available: 1 No preemption victims found for incoming pod, 1 Preemption is not helpful for scheduling.",
			&fwk.NominatingInfo{NominatingMode: fwk.ModeOverride},
		},
		{
			"not eligible", pod("p", 10, "2", never),
			[]apiruntime.Object{node("a", "2"), pod("v", 1, "1", on("a"))},
			fwk.Unschedulable, "preemption: not eligible due to preemptionPolicy=Never.", nil,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newCluster(t, nil, append(tt.objects, tt.pod)...)
			state, statuses := w.Filter(t, tt.pod)
			result, status := w.RunPostFilterPlugins(t.Context(), state, tt.pod, statuses)
			if status.Code() != tt.code || status.Message() != tt.message {
				t.Errorf("got status %v %q, want %v %q", status.Code(), status.Message(), tt.code, tt.message)
			}
			var nomination *fwk.NominatingInfo
			if result != nil {
				nomination = result.NominatingInfo
			}
			if diff := cmp.Diff(tt.nomination, nomination); diff != "" {
				t.Errorf("nomination differs (-want +got):\n%s", diff)
			}
		})
	}
}

// The error that the status is made of is still to be found in it.
func TestPostFilterError(t *testing.T) {
	gone := pod("p", 10, "2")
	w := newCluster(t, nil, node("a", "1"))
	built := w.Plugin(Name).(*plugin)
	result, status := built.PostFilter(t.Context(), framework.NewCycleState(), gone, framework.NewDefaultNodeToStatus())
	const want = `preemption: looking up the pod to preempt for: pod "p" not found`
	if !status.IsError() || status.Message() != want || result != nil {
		t.Errorf("got status %v %q, want Error %q", status.Code(), status.Message(), want)
	}
	if errors.Unwrap(status.AsError()) == nil {
		t.Error("the cause is lost")
	}
}

// The arguments say how many candidates are enough.
func TestArgs(t *testing.T) {
	objects := []apiruntime.Object{pod("p", 10, "1")}
	for _, name := range []string{"a", "b", "c", "d"} {
		// From a to d, candidates get better.
		objects = append(objects, node(name, "1"), pod("v"+name, 'e'-int32(name[0]), "1", on(name)))
	}
	chosen := func(args *configv1.DefaultPreemptionArgs) map[string]bool {
		w, nodes := newCluster(t, args, objects...), map[string]bool{}
		preemptor := objects[0].(*v1.Pod)
		for range 50 {
			state, statuses := w.Filter(t, preemptor)
			result, status := w.RunPostFilterPlugins(t.Context(), state, preemptor, statuses)
			if !status.IsSuccess() {
				t.Fatal(status.Message())
			}
			nodes[result.NominatedNodeName] = true
		}
		return nodes
	}
	if got := chosen(nil); len(got) != 1 || !got["d"] {
		t.Errorf("by default all nodes should be compared, and d be chosen; got %v", got)
	}
	one := &configv1.DefaultPreemptionArgs{MinCandidateNodesPercentage: ptr.To[int32](0), MinCandidateNodesAbsolute: ptr.To[int32](1)}
	if got := chosen(one); len(got) != 4 {
		t.Errorf("with one candidate, every node should be chosen at times; got %v", got)
	}
}

// TestPreEnqueue holds the preemptor back for as long as its victims are not on their way out.
func TestPreEnqueue(t *testing.T) {
	waits := fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "waiting for the preemption for this pod to be finished")
	onA := on("a")
	preemptor, first, last := pod("p", 10, "2"), pod("v", 2, "1", onA), pod("w", 1, "1", onA)
	w := newCluster(t, nil, preemptor, node("a", "2"), first, last)
	gate := w.Plugin(Name).(fwk.PreEnqueuePlugin)
	check := func(when string, pod *v1.Pod, want *fwk.Status) {
		t.Helper()
		t.Run(when, func(t *testing.T) { fixture.CheckStatus(t, gate.PreEnqueue(t.Context(), pod), want) })
	}
	check("before", preemptor, nil)

	state, statuses := w.Filter(t, preemptor)
	if _, status := w.RunPostFilterPlugins(t.Context(), state, preemptor, statuses); !status.IsSuccess() {
		t.Fatal(status.Message())
	}
	check("before the eviction begins", preemptor, waits)
	check("another pod", pod("q", 10, "2"), nil)

	pods := w.SharedInformerFactory().Core().V1().Pods().Informer().GetIndexer()
	w.client.PrependReactor("delete", "pods", func(action clienttesting.Action) (bool, apiruntime.Object, error) {
		name := action.(clienttesting.DeleteAction).GetName()
		check("before the deletion of "+name, preemptor, waits)
		victim := map[string]*v1.Pod{"v": first, "w": last}[name]
		if err := pods.Delete(victim); err != nil {
			t.Error(err)
		}
		want := waits
		if name == "w" {
			want = nil
		}
		check("after the deletion of "+name, preemptor, want)
		return false, nil, nil
	})
	w.runTasks()
	check("after", preemptor, nil)
	if got := w.Activated(); len(got) > 0 {
		t.Errorf("activated %q: the deletions are to wake the pod", got)
	}
	want := []string{
		"v Normal Preempted Preempting: Preempted by pod default/p on node a [p]",
		"w Normal Preempted Preempting: Preempted by pod default/p on node a [p]",
	}
	if diff := cmp.Diff(want, w.Recorded()); diff != "" {
		t.Errorf("events differ (-want +got):\n%s", diff)
	}
}

func TestNewSynchronous(t *testing.T) {
	preemptor, victim := pod("p", 10, "2"), pod("v", 2, "1", on("a"))
	w := newClusterWith(t, NewSynchronous, nil, preemptor, node("a", "2"), victim)
	state, statuses := w.Filter(t, preemptor)
	if _, status := w.RunPostFilterPlugins(t.Context(), state, preemptor, statuses); !status.IsSuccess() {
		t.Fatal(status.Message())
	}
	if len(w.tasks) > 0 {
		t.Errorf("%d tasks go on in the background", len(w.tasks))
	}
	if _, err := w.client.CoreV1().Pods(victim.Namespace).Get(t.Context(), "v", metav1.GetOptions{}); err == nil {
		t.Error("the victim is still there")
	}
	if status := w.Plugin(Name).(fwk.PreEnqueuePlugin).PreEnqueue(t.Context(), preemptor); !status.IsSuccess() {
		t.Errorf("the pod is held back: %s", status.Message())
	}
}

// A pod for which nothing can be done waits for those that rejected it in dry runs, and one with victims for this plugin.
func TestWhomPodsWaitFor(t *testing.T) {
	tests := []struct {
		name    string
		victims []apiruntime.Object
		want    []string
	}{
		{"no victims", nil, nil},
		{"victims do not help", []apiruntime.Object{pod("v", 1, "1", on("a")), pod("w", 20, "1", on("a"))}, []string{"NodeResourcesFit"}},
		{"victims help", []apiruntime.Object{pod("v", 1, "1", on("a"))}, []string{"DefaultPreemption"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			preemptor := pod("p", 10, "2")
			w := newCluster(t, nil, append(tt.victims, preemptor, node("a", "2"))...)
			state, _ := w.Filter(t, preemptor)
			statuses := framework.NewNodeToStatus(map[string]*fwk.Status{
				"a": fwk.NewStatus(fwk.Unschedulable).WithPlugin("NodePorts"),
			}, nil)
			w.RunPostFilterPlugins(t.Context(), state, preemptor, statuses)
			if diff := cmp.Diff(tt.want, sets.List(framework.DryRunRejectors(state)), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("plugins differ (-want +got):\n%s", diff)
			}
		})
	}
}
