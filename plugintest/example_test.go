// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package plugintest_test

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugintest"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/runtime"
)

// Maintenance keeps pods off nodes that are in maintenance, and prefers those that were in maintenance lately.
type Maintenance struct {
	// Annotation marks the nodes; the argument of the plugin.
	Annotation string `json:"annotation"`
}

// NewMaintenance is the factory of the plugin.
func NewMaintenance(_ context.Context, args apiruntime.Object, _ fwk.Handle) (fwk.Plugin, error) {
	plugin := &Maintenance{Annotation: "maintenance"}
	return plugin, runtime.DecodeInto(args, plugin)
}

func (m *Maintenance) Name() string { return "Maintenance" }

func (m *Maintenance) Filter(_ context.Context, _ fwk.CycleState, _ *v1.Pod, node fwk.NodeInfo) *fwk.Status {
	if node.Node().Annotations[m.Annotation] == "now" {
		return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "node is in maintenance")
	}
	return nil
}

func (m *Maintenance) Score(_ context.Context, _ fwk.CycleState, _ *v1.Pod, node fwk.NodeInfo) (int64, *fwk.Status) {
	if node.Node().Annotations[m.Annotation] == "done" {
		return 1, nil
	}
	return 0, nil
}

func (m *Maintenance) ScoreExtensions() fwk.ScoreExtensions { return m }

func (m *Maintenance) NormalizeScore(_ context.Context, _ fwk.CycleState, _ *v1.Pod, scores fwk.NodeScoreList) *fwk.Status {
	return framework.DefaultNormalizeScore(fwk.MaxScore, false, scores)
}

// EventsToRegister forgets that a node may be added.
func (m *Maintenance) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return []fwk.ClusterEventWithHint{{
		Event:          fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.UpdateNodeAnnotation},
		QueueingHintFn: framework.HintFor(m.afterNodeChange),
	}}, nil
}

func (m *Maintenance) afterNodeChange(_ klog.Logger, _ *v1.Pod, oldNode, newNode *v1.Node) (fwk.QueueingHint, error) {
	if oldNode == nil || newNode == nil || oldNode.Annotations[m.Annotation] != newNode.Annotations[m.Annotation] {
		return fwk.Queue, nil
	}
	return fwk.QueueSkip, nil
}

// printer stands in for the *testing.T of a test, which examples do not have.
type printer struct{ failed bool }

func (p *printer) Helper()                           {}
func (p *printer) Context() context.Context          { return context.Background() }
func (p *printer) Cleanup(func())                    {}
func (p *printer) Failed() bool                      { return p.failed }
func (p *printer) Logf(format string, args ...any)   { fmt.Printf(format+"\n", args...) }
func (p *printer) Errorf(format string, args ...any) { p.failed = true; p.Logf(format, args...) }
func (p *printer) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// What a plugin says about a pod on each node, and which scores it gives.
func ExampleNewFramework() {
	t := &printer{} // the *testing.T of the test
	f := plugintest.NewFramework(t, "Maintenance", NewMaintenance, plugintest.Options{
		Args: map[string]string{"annotation": "repair"},
		Nodes: []*v1.Node{
			objects.Node("n1").Annotation("repair", "now").Build(),
			objects.Node("n2").Annotation("repair", "done").Build(),
			objects.Node("n3").Build(),
		},
	})
	pod := objects.Pod("web").Build()
	fmt.Println("n1:", f.Filter(pod, "n1"))
	fmt.Println("n2 accepts:", f.Filter(pod, "n2").IsSuccess())
	fmt.Println(f.Scores(pod))
	// Output:
	// n1: node is in maintenance
	// n2 accepts: true
	// map[n2:{1 100} n3:{0 0}]
}

// Which changes the events and hints of a plugin react to.
func ExampleFramework_Wakes() {
	t := &printer{} // the *testing.T of the test
	f := plugintest.NewFramework(t, "Maintenance", NewMaintenance, plugintest.Options{})
	pod, node := objects.Pod("web").Build(), objects.Node("n1").Annotation("maintenance", "now")
	fmt.Println(f.Wakes(pod, plugintest.Updated(node.Build(), node.Annotation("maintenance", "done").Build())))
	fmt.Println(f.Wakes(pod, plugintest.Updated(node.Build(), node.Annotation("note", "hello").Build())))
	// Output:
	// true
	// false
}

// The plugin next to the in-tree ones, in a cluster that obeys the test.
func ExampleNewCluster() {
	t := &printer{} // the *testing.T of the test
	node := objects.Node("n1").Annotation("maintenance", "now").Build()
	cluster := plugintest.NewCluster(t, "Maintenance", NewMaintenance, plugintest.Options{
		Nodes: []*v1.Node{node},
		Pods:  []*v1.Pod{objects.Pod("web").Build()},
	})
	cluster.Settle()
	cluster.ExpectRejected("web", "Maintenance")
	cluster.Patch(node, `{"metadata": {"annotations": {"maintenance": "done"}}}`)
	cluster.Settle()
	cluster.ExpectBound("web", "n1")
	fmt.Println("woken by", cluster.Pod("web").WokenBy)
	// Output:
	// woken by NodeUpdateNodeAnnotation
}

// The plugin waits for changed annotations, but not for new nodes.
func ExampleCheckRequeue() {
	t := &printer{} // the *testing.T of the test
	node := objects.Node("n1").Annotation("maintenance", "now")
	plugintest.CheckRequeue(t, "Maintenance", NewMaintenance,
		plugintest.Options{
			Nodes: []*v1.Node{node.Build()},
			Pods:  []*v1.Pod{objects.Pod("web").Build()},
		},
		plugintest.Updated(node.Build(), node.Annotation("maintenance", "done").Build()),
		plugintest.Added(objects.Node("n2").Build()),
	)
	// Output:
	// plugin Maintenance misses a wake-up: it rejected pod default/web (node is in maintenance) and, when Node n2 is added, accepts it on node n2, but the pod is not woken: EventsToRegister does not return NodeAdd
}
