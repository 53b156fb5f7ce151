// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package plugintest_test

import (
	"context"
	"errors"
	goruntime "runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/nodeaffinity"
	"github.com/rouse-scheduler/rouse/plugins/prioritysort"
	"github.com/rouse-scheduler/rouse/plugintest"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/runtime"
)

// limitWorld has node n1 with two limited pods, n2 with one that may take another, and n3 with none.
func limitWorld() plugintest.Options {
	return plugintest.Options{
		Nodes: []*v1.Node{
			objects.Node("n1").Build(),
			objects.Node("n2").Annotation("limit", "2").Build(),
			objects.Node("n3").Build(),
		},
		Pods: []*v1.Pod{
			limited("a").Node("n1").Build(),
			limited("b").Node("n1").Build(),
			limited("c").Node("n2").Build(),
			limited("finished").Node("n3").Phase(v1.PodSucceeded).Build(),
		},
	}
}

func TestFilter(t *testing.T) {
	full := fwk.NewStatus(fwk.Unschedulable, "node is at its limit")
	outOfOrder := fwk.AsStatus(errors.New("out of order"))
	tests := []struct {
		name   string
		args   any
		change func(*Limit)
		pod    objects.PodBuilder
		want   map[string]*fwk.Status
	}{
		{name: "Filter decides", pod: limited("web"), want: map[string]*fwk.Status{"n1": full, "n2": nil, "n3": nil}},
		{name: "arguments count", args: map[string]int{"max": 3}, pod: limited("web"), want: map[string]*fwk.Status{"n1": nil, "n2": nil, "n3": nil}},
		{
			name: "PreFilter rejects", pod: limited("web"),
			change: func(limit *Limit) {
				limit.prefilter = func(*v1.Pod) (*fwk.PreFilterResult, *fwk.Status) {
					return nil, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "never")
				}
			},
			want: map[string]*fwk.Status{
				"n1": fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "never"),
				"n2": fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "never"),
				"n3": fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "never"),
			},
		},
		{
			name: "PreFilter leaves nodes out", pod: limited("web"),
			change: func(limit *Limit) {
				limit.prefilter = func(*v1.Pod) (*fwk.PreFilterResult, *fwk.Status) {
					return &fwk.PreFilterResult{NodeNames: sets.New("n1", "n3")}, nil
				}
			},
			want: map[string]*fwk.Status{
				"n1": full, "n2": fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "PreFilter left the node out"), "n3": nil},
		},
		{
			name: "PreFilter skips Filter", pod: limited("web"),
			change: func(limit *Limit) {
				limit.prefilter = func(*v1.Pod) (*fwk.PreFilterResult, *fwk.Status) { return nil, fwk.NewStatus(fwk.Skip) }
			},
			want: map[string]*fwk.Status{"n1": nil, "n2": nil, "n3": nil},
		},
		{
			name: "Filter fails", pod: limited("web"),
			change: func(limit *Limit) { limit.filter = func(*v1.Pod, *v1.Node) *fwk.Status { return outOfOrder } },
			want:   map[string]*fwk.Status{"n1": outOfOrder, "n2": outOfOrder, "n3": outOfOrder},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			options := limitWorld()
			options.Args = test.args
			factory := changedLimit(func(limit *Limit) {
				if test.change != nil {
					test.change(limit)
				}
			})
			f := plugintest.NewFramework(t, limitName, factory, options)
			got := f.FilterAll(test.pod.Build())
			for node, want := range test.want {
				if !strings.HasSuffix(got[node].Message(), want.Message()) || got[node].Code() != want.Code() {
					t.Errorf("FilterAll on %s: got %v %q, want %v %q", node, got[node].Code(), got[node].Message(), want.Code(), want.Message())
				}
				if alone := f.Filter(test.pod.Build(), node); !alone.IsError() && !cmp.Equal(alone, got[node]) {
					t.Errorf("Filter on %s: got %v, FilterAll said %v", node, alone, got[node])
				}
			}
			if len(got) != len(test.want) {
				t.Errorf("FilterAll is about %d nodes, want %d", len(got), len(test.want))
			}
		})
	}
}

// TestFilterStatusCompares shows that statuses can be compared as they are.
func TestFilterStatusCompares(t *testing.T) {
	f := plugintest.NewFramework(t, limitName, newLimit(), limitWorld())
	want := map[string]*fwk.Status{"n1": fwk.NewStatus(fwk.Unschedulable, "node is at its limit"), "n2": nil, "n3": nil}
	if diff := cmp.Diff(want, f.FilterAll(limited("web").Build())); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestFilterCountsNominatedPods(t *testing.T) {
	options := limitWorld()
	options.Pods = append(options.Pods, limited("important").Priority(10).NominatedNode("n3").Build())
	f := plugintest.NewFramework(t, limitName, newLimit(), options)
	if got := f.Filter(limited("web").Build(), "n3"); got.Code() != fwk.Unschedulable {
		t.Errorf("got %v, want the nominated pod to take the place", got)
	}
	if got := f.Filter(limited("urgent").Priority(20).Build(), "n3"); !got.IsSuccess() {
		t.Errorf("got %v, want the more important pod to go first", got)
	}
}

func TestScores(t *testing.T) {
	options := limitWorld()
	options.Args = map[string]int{"max": 2}
	f := plugintest.NewFramework(t, limitName, newLimit(), options)
	unlimited := map[string]plugintest.Score{"n1": {2, 80}, "n2": {1, 90}, "n3": {0, 100}}
	if diff := cmp.Diff(unlimited, f.Scores(objects.Pod("web").Build())); diff != "" {
		t.Errorf("pod without limit (-want +got):\n%s", diff)
	}
	delete(unlimited, "n1")
	if diff := cmp.Diff(unlimited, f.Scores(limited("web").Build())); diff != "" {
		t.Errorf("only nodes that pass the filter have a score (-want +got):\n%s", diff)
	}
}

func TestFrameworkIsComplete(t *testing.T) {
	options := limitWorld()
	options.Args = struct {
		Max int `json:"max"`
	}{7}
	options.Objects = []apiruntime.Object{&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "fast"}}}
	closed := false
	t.Run("building", func(t *testing.T) {
		f := plugintest.NewFramework(t, limitName, changedLimit(func(limit *Limit) {
			limit.closed = func() error { closed = true; return nil }
		}), options)
		limit := f.Plugin(limitName).(*Limit)
		if limit.Max != 7 {
			t.Errorf("the argument is %d, want 7", limit.Max)
		}
		if _, err := limit.handle.SharedInformerFactory().Storage().V1().StorageClasses().Lister().Get("fast"); err != nil {
			t.Errorf("the lister does not have the object of the options: %v", err)
		}
		if _, err := limit.handle.ClientSet().CoreV1().Pods("default").Get(t.Context(), "finished", metav1.GetOptions{}); err != nil {
			t.Errorf("the client does not have the pod of the options: %v", err)
		}
		pods, err := limit.handle.SharedInformerFactory().Core().V1().Pods().Lister().List(labels.Everything())
		if err != nil || len(pods) != 3 {
			t.Errorf("the lister has %d pods, error %v, want the three that are not finished", len(pods), err)
		}
		if got := len(f.NodeInfo("n3").GetPods()); got != 0 {
			t.Errorf("%d pods on n3, want none: the one there is finished", got)
		}
		if closed {
			t.Error("the plugin is closed before the end of the test")
		}
	})
	if !closed {
		t.Error("the plugin is not closed")
	}
}

func TestTypedArgumentsAreHandedOver(t *testing.T) {
	f := plugintest.NewFramework(t, nodeaffinity.Name, nodeaffinity.New, plugintest.Options{
		Args: &configv1.NodeAffinityArgs{AddedAffinity: &v1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{
				{MatchExpressions: []v1.NodeSelectorRequirement{{Key: "disk", Operator: v1.NodeSelectorOpExists}}},
			}},
		}},
		Nodes: []*v1.Node{objects.Node("n1").Build(), objects.Node("n2").Label("disk", "ssd").Build()},
	})
	pod := objects.Pod("web").Build()
	if f.Filter(pod, "n1").IsSuccess() || !f.Filter(pod, "n2").IsSuccess() {
		t.Errorf("got %v, want only n2", f.FilterAll(pod))
	}
}

// reverse is a plugin that sorts the queue and nothing else.
type reverse struct{}

func (reverse) Name() string                        { return "Reverse" }
func (reverse) Less(a, b fwk.QueuedEntityInfo) bool { return a.GetPriority() < b.GetPriority() }
func newReverse(context.Context, apiruntime.Object, fwk.Handle) (fwk.Plugin, error) {
	return reverse{}, nil
}

func TestPluginThatSorts(t *testing.T) {
	f := plugintest.NewFramework(t, "Reverse", newReverse, plugintest.Options{})
	if got := f.ListPlugins().QueueSort.Enabled; len(got) != 1 || got[0].Name != "Reverse" {
		t.Errorf("the queue is sorted by %v, want Reverse alone", got)
	}
	own := plugintest.NewFramework(t, prioritysort.Name, prioritysort.New, plugintest.Options{})
	if got := own.ListPlugins().QueueSort.Enabled; len(got) != 1 || got[0].Name != prioritysort.Name {
		t.Errorf("the queue is sorted by %v, want %s", got, prioritysort.Name)
	}
}

func TestFrameworkFailures(t *testing.T) {
	options := limitWorld()
	pod := limited("web").Build()
	failing := changedLimit(func(limit *Limit) {
		limit.filter = func(*v1.Pod, *v1.Node) *fwk.Status { return fwk.AsStatus(errors.New("out of order")) }
	})
	tests := []struct {
		name string
		test func(t plugintest.TB)
		want string
	}{
		{"no factory", func(t plugintest.TB) { plugintest.NewFramework(t, limitName, nil, options) },
			`building a framework with plugin "Limit": plugin "Limit" has no factory`},
		{"other name", func(t plugintest.TB) { plugintest.NewFramework(t, "Limits", newLimit(), options) },
			`building a framework with plugin "Limits": initializing plugin "Limits": ` +
				`the plugin calls itself "Limit"; it must be registered under that name`},
		{"no plugin", func(t plugintest.TB) {
			plugintest.NewFramework(t, limitName, func(context.Context, apiruntime.Object, fwk.Handle) (fwk.Plugin, error) {
				return nil, nil
			}, options)
		}, `building a framework with plugin "Limit": initializing plugin "Limit": the factory returned no plugin`},
		{"bad arguments", func(t plugintest.TB) {
			plugintest.NewFramework(t, limitName, newLimit(), plugintest.Options{Args: map[string]string{"max": "many"}})
		}, `building a framework with plugin "Limit": initializing plugin "Limit": decoding plugin arguments into *plugintest_test.Limit: ` +
			`json: cannot unmarshal string into Go struct field Limit.max of type int`},
		{"arguments that are no JSON", func(t plugintest.TB) {
			plugintest.NewFramework(t, limitName, newLimit(), plugintest.Options{Args: func() {}})
		}, `building a framework with plugin "Limit": writing the arguments of the plugin as JSON: json: unsupported type: func()`},
		{"objects twice", func(t plugintest.TB) {
			plugintest.NewFramework(t, limitName, newLimit(), plugintest.Options{Nodes: []*v1.Node{fullNode(), fullNode()}})
		}, `building a framework with plugin "Limit": creating Node n1: nodes "n1" already exists`},
		{"unknown node", func(t plugintest.TB) {
			plugintest.NewFramework(t, limitName, newLimit(), options).Filter(pod, "n9")
		}, `node "n9" is not among the nodes of the options`},
		{"failing scores", func(t plugintest.TB) {
			plugintest.NewFramework(t, limitName, failing, options).Scores(pod)
		}, `scoring the nodes for pod default/web: filtering node "n1": running "Limit" filter plugin: out of order`},
		{"no scores", func(t plugintest.TB) {
			plugintest.NewFramework(t, "Reverse", newReverse, options).Scores(pod)
		}, `scoring the nodes for pod default/web: plugin "Reverse" does not implement fwk.ScorePlugin`},
		{"closing", func(t plugintest.TB) {
			plugintest.NewFramework(t, limitName, changedLimit(func(limit *Limit) {
				limit.closed = func() error { return errors.New("stuck") }
			}), options)
		}, `closing plugin "Limit": Limit failed to close: stuck`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			recorded := record(t, test.test)
			if diff := cmp.Diff([]string{test.want}, recorded.failures); diff != "" {
				t.Errorf("failures (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWakes(t *testing.T) {
	sameNamespace := func(_ klog.Logger, pod *v1.Pod, oldObj, _ any) (fwk.QueueingHint, error) {
		if oldObj.(*v1.Pod).Namespace == pod.Namespace {
			return fwk.Queue, nil
		}
		return fwk.QueueSkip, nil
	}
	added := func(_ klog.Logger, _ *v1.Pod, oldObj, newObj any) (fwk.QueueingHint, error) {
		if oldObj != nil || newObj == nil {
			return fwk.QueueSkip, errors.New("an object that was added has no old state")
		}
		return fwk.Queue, nil
	}
	f := plugintest.NewFramework(t, limitName, newLimit(
		on(fwk.AssignedPod, fwk.Delete, sameNamespace),
		on(fwk.AssignedPod, fwk.Add, nil),
		on(fwk.TargetPod, fwk.UpdatePodLabel, nil),
		on(fwk.Node, fwk.Add, added),
		on(fwk.Node, fwk.UpdateNodeTaint, nil),
		on(fwk.StorageClass, fwk.Update, nil),
		on("foos.v1.example.com", fwk.Delete, nil),
		on("configmaps.v1.", fwk.Add|fwk.Update, framework.HintFor(func(_ klog.Logger, _ *v1.Pod, _, changed *unstructured.Unstructured) (fwk.QueueingHint, error) {
			if open, _, err := unstructured.NestedString(changed.Object, "data", "open"); open != "yes" {
				return fwk.QueueSkip, err
			}
			return fwk.Queue, nil
		})),
	), plugintest.Options{})
	shut := &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "door"}}
	open := &v1.ConfigMap{ObjectMeta: shut.ObjectMeta, Data: map[string]string{"open": "yes"}}
	pod, other, node := limited("web"), limited("other").Node("n1"), objects.Node("n1")
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "fast"}}
	slow := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "fast"}, Provisioner: "slow"}
	custom := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Foo"}}
	tests := []struct {
		name       string
		transition plugintest.Transition
		want       bool
	}{
		{"assigned pod deleted", plugintest.Deleted(other.Build()), true},
		{"assigned pod of another namespace deleted", plugintest.Deleted(other.Namespace("shop").Build()), false},
		{"waiting pod deleted", plugintest.Deleted(limited("other").Build()), false},
		{"waiting pod added", plugintest.Added(limited("other").Build()), false},
		{"assigned pod added", plugintest.Added(other.Build()), true},
		{"pod bound", plugintest.Updated(limited("other").Build(), other.Build()), true},
		{"assigned pod updated", plugintest.Updated(other.Build(), other.Label("a", "b").Build()), false},
		{"the pod itself updated", plugintest.Updated(pod.Build(), pod.Label("a", "b").Build()), true},
		{"another waiting pod updated", plugintest.Updated(limited("other").Build(), limited("other").Label("a", "b").Build()), false},
		{"node added", plugintest.Added(node.Build()), true},
		{"node deleted", plugintest.Deleted(node.Build()), false},
		{"taint added", plugintest.Updated(node.Build(), node.Taint("a", "b", v1.TaintEffectNoSchedule).Build()), true},
		{"uncordoned", plugintest.Updated(node.Unschedulable().Build(), node.Build()), true},
		{"node labelled", plugintest.Updated(node.Build(), node.Label("a", "b").Build()), false},
		{"storage class updated", plugintest.Updated(class, slow), true},
		{"storage class deleted", plugintest.Deleted(class), false},
		{"config map added", plugintest.Added(shut), false},
		{"config map updated", plugintest.Updated(shut, open), true},
		{"config map deleted", plugintest.Deleted(open), false},
		{"custom object deleted", plugintest.Deleted(custom), true},
		{"custom object added", plugintest.Added(custom), false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := f.Wakes(pod.Build(), test.transition); got != test.want {
				t.Errorf("got %t, want %t", got, test.want)
			}
		})
	}
}

func TestWakesFailures(t *testing.T) {
	factory := newLimit(on(fwk.Node, fwk.Add, func(klog.Logger, *v1.Pod, any, any) (fwk.QueueingHint, error) { panic("oh") }))
	wakes := false
	recorded := record(t, func(t plugintest.TB) {
		f := plugintest.NewFramework(t, limitName, factory, plugintest.Options{})
		wakes = f.Wakes(waiting(), plugintest.Added(fullNode()))
		f.Wakes(waiting(), plugintest.Transition{})
	})
	want := []string{
		`the hint of plugin Limit for NodeAdd failed when Node n1 is added: plugin "Limit" panicked in QueueingHintFn: oh`,
		"asking hints about a transition: it has no object; create it with Added, Updated or Deleted",
	}
	for i, failure := range recorded.failures {
		recorded.failures[i], _, _ = strings.Cut(failure, " (at plugintest/framework_test.go:")
	}
	if diff := cmp.Diff(want, recorded.failures); diff != "" || !wakes {
		t.Errorf("wakes %t, want true; failures (-want +got):\n%s", wakes, diff)
	}
}

// TestFrameworksAreIndependent has two plugins with different arguments in one process.
func TestFrameworksAreIndependent(t *testing.T) {
	strict := limitWorld()
	lenient := limitWorld()
	lenient.Args = map[string]int{"max": 5}
	pod := limited("web").Build()
	a := plugintest.NewFramework(t, limitName, newLimit(), strict)
	b := plugintest.NewFramework(t, limitName, newLimit(), lenient)
	if a.Filter(pod, "n1").IsSuccess() || !b.Filter(pod, "n1").IsSuccess() || a.Filter(pod, "n1").IsSuccess() {
		t.Errorf("got %v with one argument and %v with the other", a.FilterAll(pod), b.FilterAll(pod))
	}
	var _ *runtime.Framework = a.Framework
}

// A plugin that ends the goroutine, as t.Fatal does, fails the call, and not the test that makes it.
func TestPluginThatEndsItsGoroutine(t *testing.T) {
	factory := newLimit()
	for _, method := range []string{"PreFilter", "Filter"} {
		f := plugintest.NewFramework(t, limitName, func(ctx context.Context, args apiruntime.Object, handle fwk.Handle) (fwk.Plugin, error) {
			plugin, err := factory(ctx, args, handle)
			return quitting{plugin, method}, err
		}, limitWorld())
		for node, status := range f.FilterAll(waiting()) {
			var failure *runtime.PanicError
			if !errors.As(status.AsError(), &failure) || failure.Plugin != limitName || string(failure.Method) != method {
				t.Errorf("%s: %s has status %v, want an error with the plugin", method, node, status)
			}
		}
	}
}

// quitting is a plugin that ends its goroutine in a method.
type quitting struct {
	fwk.Plugin
	in string
}

func (q quitting) PreFilter(context.Context, fwk.CycleState, *v1.Pod, []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	if q.in == "PreFilter" {
		goruntime.Goexit()
	}
	return nil, nil
}

func (quitting) PreFilterExtensions() fwk.PreFilterExtensions { return nil }

func (q quitting) Filter(context.Context, fwk.CycleState, *v1.Pod, fwk.NodeInfo) *fwk.Status {
	if q.in == "Filter" {
		goruntime.Goexit()
	}
	return nil
}

// tamperer changes what it is asked about.
type tamperer struct {
	pod  func(*v1.Pod)
	node func(*v1.Node)
}

func (*tamperer) Name() string { return "Tamperer" }

func (c *tamperer) Filter(_ context.Context, _ fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo) *fwk.Status {
	c.pod(pod)
	c.node(node.Node())
	return nil
}

func TestPluginsThatChangeObjectsFailTheTest(t *testing.T) {
	leavePod, leaveNode := func(*v1.Pod) {}, func(*v1.Node) {}
	for want, plugin := range map[string]*tamperer{
		"changed pod default/web": {func(pod *v1.Pod) { pod.Labels = map[string]string{"a": "b"} }, leaveNode},
		"changed node n1":         {leavePod, func(node *v1.Node) { node.Spec.Unschedulable = true }},
		"":                        {leavePod, leaveNode},
	} {
		var unschedulable bool
		recorded := record(t, func(t plugintest.TB) {
			factory := func(context.Context, apiruntime.Object, fwk.Handle) (fwk.Plugin, error) { return plugin, nil }
			f := plugintest.NewFramework(t, "Tamperer", factory, plugintest.Options{Nodes: []*v1.Node{objects.Node("n1").Build()}})
			f.Filter(objects.Pod("web").Build(), "n1")
			unschedulable = f.NodeInfo("n1").Node().Spec.Unschedulable
		})
		if got := strings.Join(recorded.failures, "\n"); (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("failures %q, want one with %q", got, want)
		}
		if unschedulable {
			t.Error("the node was not restored")
		}
	}
}
