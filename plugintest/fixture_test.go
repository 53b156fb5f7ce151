// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package plugintest_test

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"testing"

	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugintest"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
	rouseruntime "github.com/rouse-scheduler/rouse/runtime"
)

// recorder is a test that notes its failures, to test what fails tests.
type recorder struct {
	context  context.Context
	failures []string
	logs     []string
	ended    bool
	cleanups []func()
}

// record runs a test to its end, with the cleanup that it asked for.
func record(t *testing.T, test func(t plugintest.TB)) *recorder {
	t.Helper()
	r := &recorder{context: t.Context()}
	done := make(chan struct{})
	go func() {
		defer close(done)
		test(r)
	}()
	<-done
	for i := len(r.cleanups) - 1; i >= 0; i-- {
		r.cleanups[i]()
	}
	return r
}

func (r *recorder) Helper()                  {}
func (r *recorder) Context() context.Context { return r.context }
func (r *recorder) Cleanup(cleanup func())   { r.cleanups = append(r.cleanups, cleanup) }
func (r *recorder) Failed() bool             { return len(r.failures) > 0 }

func (r *recorder) Logf(format string, args ...any) {
	r.logs = append(r.logs, fmt.Sprintf(format, args...))
}

func (r *recorder) Errorf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	r.ended = true
	runtime.Goexit()
}

// Limit is the plugin of the tests: a node takes at most as many pods with the label "limited" as its annotation "limit"
// says, and other pods without limit. Everything about how it waits for events can be set.
type Limit struct {
	Max    int `json:"max"`
	handle fwk.Handle
	events []fwk.ClusterEventWithHint
	closed func() error
	// prefilter and filter are asked before the plugin's own opinion counts; both may be nil.
	prefilter func(pod *v1.Pod) (*fwk.PreFilterResult, *fwk.Status)
	filter    func(pod *v1.Pod, node *v1.Node) *fwk.Status
}

const limitName = "Limit"

// newLimit returns a factory of the plugin.
func newLimit(events ...fwk.ClusterEventWithHint) rouseruntime.PluginFactory {
	return changedLimit(func(limit *Limit) { limit.events = events })
}

func changedLimit(change func(*Limit)) rouseruntime.PluginFactory {
	return func(_ context.Context, args apiruntime.Object, handle fwk.Handle) (fwk.Plugin, error) {
		limit := &Limit{Max: 1, handle: handle}
		if err := rouseruntime.DecodeInto(args, limit); err != nil {
			return nil, err
		}
		change(limit)
		return limit, nil
	}
}

func (l *Limit) Name() string { return limitName }

func (l *Limit) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return l.events, nil
}

func (l *Limit) Close() error {
	if l.closed == nil {
		return nil
	}
	return l.closed()
}

func (l *Limit) PreFilter(_ context.Context, _ fwk.CycleState, pod *v1.Pod, _ []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	if l.prefilter == nil {
		return nil, nil
	}
	return l.prefilter(pod)
}

func (l *Limit) PreFilterExtensions() fwk.PreFilterExtensions { return nil }

func (l *Limit) Filter(_ context.Context, _ fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo) *fwk.Status {
	if l.filter != nil {
		if status := l.filter(pod, node.Node()); status != nil {
			return status
		}
	}
	if _, limited := pod.Labels["limited"]; limited && l.count(node) >= l.max(node.Node()) {
		return fwk.NewStatus(fwk.Unschedulable, "node is at its limit")
	}
	return nil
}

func (l *Limit) count(node fwk.NodeInfo) int {
	count := 0
	for _, other := range node.GetPods() {
		if _, limited := other.GetPod().Labels["limited"]; limited {
			count++
		}
	}
	return count
}

func (l *Limit) max(node *v1.Node) int {
	if written, err := strconv.Atoi(node.Annotations["limit"]); err == nil {
		return written
	}
	return l.Max
}

// Score prefers nodes with fewer limited pods.
func (l *Limit) Score(_ context.Context, _ fwk.CycleState, _ *v1.Pod, node fwk.NodeInfo) (int64, *fwk.Status) {
	return int64(l.count(node)), nil
}

func (l *Limit) ScoreExtensions() fwk.ScoreExtensions { return l }

func (l *Limit) NormalizeScore(_ context.Context, _ fwk.CycleState, _ *v1.Pod, scores fwk.NodeScoreList) *fwk.Status {
	for i := range scores {
		scores[i].Score = fwk.MaxScore - 10*scores[i].Score
	}
	return nil
}

// on returns a registration.
func on(resource fwk.EventResource, actions fwk.ActionType, hint fwk.QueueingHintFn) fwk.ClusterEventWithHint {
	return fwk.ClusterEventWithHint{
		Event: fwk.ClusterEvent{Resource: resource, ActionType: actions}, QueueingHintFn: hint,
	}
}

// Objects that many tests use: node n1 is at its limit, and default/web waits.
func fullNode() *v1.Node { return objects.Node("n1").Build() }
func running() *v1.Pod   { return limited("running").Node("n1").Build() }
func waiting() *v1.Pod   { return limited("web").Build() }

func limited(name string) objects.PodBuilder { return objects.Pod(name).Label("limited", "") }

func fullCluster() plugintest.Options {
	return plugintest.Options{Nodes: []*v1.Node{fullNode()}, Pods: []*v1.Pod{running(), waiting()}}
}
