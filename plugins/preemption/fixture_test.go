// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package preemption_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugins/interpodaffinity"
	"github.com/rouse-scheduler/rouse/plugins/nodeaffinity"
	"github.com/rouse-scheduler/rouse/plugins/nodeports"
	"github.com/rouse-scheduler/rouse/plugins/noderesourcesfit"
	"github.com/rouse-scheduler/rouse/plugins/podtopologyspread"
	"github.com/rouse-scheduler/rouse/plugins/preemption"
	"github.com/rouse-scheduler/rouse/plugins/tainttoleration"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/runtime"
)

func registry() runtime.Registry {
	return runtime.Registry{
		interpodaffinity.Name:  interpodaffinity.New,
		nodeaffinity.Name:      nodeaffinity.New,
		nodeports.Name:         nodeports.New,
		noderesourcesfit.Name:  noderesourcesfit.New,
		podtopologyspread.Name: podtopologyspread.New,
		tainttoleration.Name:   tainttoleration.New,
	}
}

// factoryOf returns a factory of one plugin.
func factoryOf(plugin fwk.Plugin) runtime.PluginFactory {
	return func(context.Context, apiruntime.Object, fwk.Handle) (fwk.Plugin, error) { return plugin, nil }
}

// filters are the plugins of the registry in the order of the default profile.
func filters() []string {
	return []string{
		tainttoleration.Name, nodeaffinity.Name, nodeports.Name, noderesourcesfit.Name, podtopologyspread.Name, interpodaffinity.Name,
	}
}

// list is shorthand for a list of objects.
type list = []apiruntime.Object

// node returns a node with room for pods and the given CPUs.
func node(name, cpu string, changes ...func(*v1.Node)) *v1.Node {
	return objects.Node(name).Allocatable("cpu", cpu, "memory", "64Gi").With(changes...).Build()
}

// pod returns a pod with a priority that requests CPUs. Its UID, which events and patches show, is its name.
func pod(name string, priority int32, cpu string, changes ...func(*v1.Pod)) *v1.Pod {
	return objects.Pod(name).UID(types.UID(name)).Priority(priority).Requests("cpu", cpu).With(changes...).Build()
}

func on(name string) func(*v1.Pod) { return func(pod *v1.Pod) { pod.Spec.NodeName = name } }

// labelled labels a pod with app=value.
func labelled(value string) func(*v1.Pod) {
	return func(pod *v1.Pod) { pod.Labels = map[string]string{"app": value} }
}

// started sets the start time of a pod, in minutes after some moment in the past.
func started(minute int) func(*v1.Pod) {
	return func(pod *v1.Pod) {
		start := metav1.NewTime(time.Date(2020, time.May, 1, 12, minute, 0, 0, time.UTC))
		pod.Status.StartTime = &start
	}
}

func terminating(pod *v1.Pod) { pod.DeletionTimestamp = &metav1.Time{Time: time.Unix(1e9, 0)} }

func nominatedFor(name string) func(*v1.Pod) {
	return func(pod *v1.Pod) { pod.Status.NominatedNodeName = name }
}

func condition(status v1.ConditionStatus, reason string) func(*v1.Pod) {
	return func(pod *v1.Pod) {
		pod.Status.Conditions = append(pod.Status.Conditions, v1.PodCondition{Type: v1.DisruptionTarget, Status: status, Reason: reason})
	}
}

// budget returns a disruption budget for the pods with the label app=value.
func budget(name, value string, allowed int32, changes ...func(*policyv1.PodDisruptionBudget)) *policyv1.PodDisruptionBudget {
	b := objects.PodDisruptionBudget(name, "app="+value, allowed)
	for _, change := range changes {
		change(b)
	}
	return b
}

// recordingHooks remember what the search found.
type recordingHooks struct {
	preemption.Hooks
	candidates []preemption.Candidate
}

func (h *recordingHooks) CandidatesToVictimsMap(candidates []preemption.Candidate) map[string]*extenderv1.Victims {
	h.candidates = candidates
	return h.Hooks.CandidatesToVictimsMap(candidates)
}

// found returns the candidates as lines: node, victims in order and, if it is not zero, how many exceed their budget.
func (h *recordingHooks) found() []string {
	var lines []string
	for _, candidate := range h.candidates {
		line := candidate.Node + ":"
		for _, victim := range candidate.Victims.Pods {
			line += " " + victim.Name
		}
		if violations := candidate.Victims.NumPDBViolations; violations > 0 {
			line += fmt.Sprintf(" (%d)", violations)
		}
		lines = append(lines, line)
	}
	return lines
}

// setup is a cluster and an evaluator in it whose evictions are over when Preempt returns.
type setup struct {
	*fixture.Cluster
	client    *fake.Clientset
	hooks     *recordingHooks
	evaluator *preemption.Evaluator
}

type setupOptions struct {
	fixture.ClusterOptions
	hooks       preemption.HooksOptions
	synchronous bool
	// override replaces the default hooks.
	override func(preemption.Hooks) preemption.Hooks
}

// newSetup builds the evaluator of a plugin named Test. Without other options the filters run, everything in order in
// one goroutine, and the API server has the objects.
func newSetup(tb testing.TB, options setupOptions) *setup {
	tb.Helper()
	s := &setup{client: fake.NewClientset(options.Objects...)}
	if options.Plugins == nil {
		options.Plugins = filters()
	}
	if options.Parallelism == 0 {
		options.Parallelism = 1
	}
	if options.Go == nil {
		options.Go = func(task func()) { task() }
	}
	if options.Registry == nil {
		options.Registry = registry()
	}
	options.Client = s.client
	s.Cluster = fixture.NewCluster(tb, options.ClusterOptions)
	options.hooks.Handle = s.Cluster.Framework
	s.hooks = &recordingHooks{Hooks: preemption.NewDefaultHooks(options.hooks)}
	if options.override != nil {
		s.hooks.Hooks = options.override(s.hooks.Hooks)
	}
	var err error
	s.evaluator, err = preemption.NewEvaluator(preemption.Options{
		PluginName: "Test", Handle: s.Cluster.Framework, Hooks: s.hooks, Synchronous: options.synchronous,
	})
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// in is newSetup with nothing but objects.
func in(tb testing.TB, all list) *setup {
	return newSetup(tb, setupOptions{ClusterOptions: fixture.ClusterOptions{Objects: all}})
}

// preempt filters the nodes for a pod and then lets it preempt.
func (s *setup) preempt(tb testing.TB, pod *v1.Pod) (*fwk.PostFilterResult, *fwk.Status) {
	tb.Helper()
	state, statuses := s.Filter(tb, pod)
	return s.evaluator.Preempt(silent(tb), state, pod, statuses)
}

// silent returns a context whose logger drops everything.
func silent(tb testing.TB) context.Context { return klog.NewContext(tb.Context(), klog.Logger{}) }

// deleted returns the names of the pods that were deleted through the API, sorted.
func (s *setup) deleted() []string {
	var names []string
	for _, action := range s.client.Actions() {
		if deletion, ok := action.(clienttesting.DeleteAction); ok {
			names = append(names, deletion.GetName())
		}
	}
	slices.Sort(names)
	return names
}

// nominated describes a result: the node, "cleared" for a nomination that is taken back, or "kept".
func nominated(result *fwk.PostFilterResult) string {
	switch {
	case result == nil || result.Mode() != fwk.ModeOverride:
		return "kept"
	case result.NominatedNodeName == "":
		return "cleared"
	}
	return result.NominatedNodeName
}

// checkPreempted checks that room was made on a node by evicting exactly the victims, given by name, separated by blanks.
func (s *setup) checkPreempted(tb testing.TB, result *fwk.PostFilterResult, status *fwk.Status, node, victims string) {
	tb.Helper()
	if !status.IsSuccess() {
		tb.Fatalf("got status %v %q, want Success", status.Code(), status.Message())
	}
	want := strings.Fields(victims)
	slices.Sort(want)
	if got := s.deleted(); !slices.Equal(got, want) {
		tb.Errorf("pods %q were deleted, want %q", got, want)
	}
	if got := nominated(result); got != node {
		tb.Errorf("nomination: %s, want %s", got, node)
	}
	message := fmt.Sprintf("found a potential placement for pod on node %s, preempting %d victims", node, len(want))
	if got := status.Message(); got != message {
		tb.Errorf("got message %q, want %q", got, message)
	}
}
