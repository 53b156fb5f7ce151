// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/test/bench/objects"
)

// A row of profiles makes decisions, as those in decisions.go, with a profile or in a cluster where less can be reused from one
// decision to the next.

// profileCase is a row of profiles, for every number of nodes.
type profileCase struct {
	name     string
	settings settings
	// shapes is how many different pods take turns, 1 if it is zero.
	shapes int
	// unique pods request different amounts of memory.
	unique bool
	// heartbeats is how many nodes report that they are alive between two decisions.
	heartbeats int
	nodes      []int
	quickUpTo  int // the largest number of nodes that is measured without -full
}

func profileCases() []profileCase {
	sizes := []int{1_000, 5_000, 15_000, 50_000}
	return []profileCase{
		{name: "an out-of-tree Filter and Score plugin", settings: settings{outOfTree: true}, nodes: sizes, quickUpTo: 5_000},
		{name: "an out-of-tree plugin, pods all different", settings: settings{outOfTree: true}, unique: true, nodes: []int{5_000, 50_000}},
		{name: "percentageOfNodesToScore 10", settings: settings{percentage: 10}, nodes: []int{5_000, 15_000}},
		{name: "no Score plugins", settings: settings{noScore: true}, nodes: []int{5_000}},
		{name: "100 heartbeats between decisions", heartbeats: 100, nodes: []int{5_000}, quickUpTo: 5_000},
		{name: "50 shapes in turns", shapes: 50, nodes: []int{50_000}},
		{name: "200 shapes in turns", shapes: 200, nodes: []int{50_000}},
		{name: "1,000 shapes in turns", shapes: 1_000, nodes: []int{5_000}, quickUpTo: 5_000},
	}
}

func profileGroups() []group {
	var groups []group
	for _, c := range profileCases() {
		for _, size := range c.nodes {
			groups = append(groups, group{work: []work{c.work(size)}})
		}
	}
	return groups
}

func (c *profileCase) work(size int) work {
	run := func(build func(context.Context, settings) (decider, error)) func(context.Context, *meter) (Sample, error) {
		return func(ctx context.Context, m *meter) (Sample, error) {
			d, err := build(ctx, c.settings)
			if err != nil {
				return nil, err
			}
			defer d.close()
			pods := objects.Pods(c.warmUp()+decisionsPerRun*m.times(), objects.Basic, c.unique)
			for i, pod := range pods {
				if c.shapes > 0 {
					memory := resource.NewQuantity(int64(1+i%c.shapes)<<20, resource.BinarySI)
					pod.Spec.Containers[0].Resources.Requests[v1.ResourceMemory] = *memory
				}
			}
			return c.measure(ctx, m, d, objects.Nodes(size, objects.Basic), pods)
		}
	}
	return work{
		Row: Row{Workload: "profiles", Case: c.name, Size: size, Unit: "nodes", Metric: WallNanos, Target: 5},
		runs: map[Contender]func(context.Context, *meter) (Sample, error){
			Rouse:         run(newRouseDecider),
			KubeScheduler: run(newKubeSchedulerDecider),
		},
		quick: size <= c.quickUpTo,
	}
}

// warmUp is how many decisions warm up: every shape comes twice.
func (c *profileCase) warmUp() int { return 2*max(c.shapes, 1) + warmUpPods }

// measure places the pods one after the other.
func (c *profileCase) measure(ctx context.Context, m *meter, d decider, nodes []*v1.Node, pods []*v1.Pod) (Sample, error) {
	if err := d.addNodes(nodes); err != nil {
		return nil, fmt.Errorf("adding nodes: %w", err)
	}
	for _, pod := range pods {
		d.enqueue(ctx, pod)
	}
	beats := [2][]*v1.Node{nodes, nil} // two versions of every node, which take turns
	if c.heartbeats > 0 {
		for i, node := range nodes {
			beats[0][i] = heartbeat(node, 0)
			beats[1] = append(beats[1], heartbeat(node, 1))
		}
	}
	beat := 0
	decide := func() error {
		for range c.heartbeats {
			round, i := beat/len(nodes), beat%len(nodes)
			if err := d.updateNode(beats[(round+1)%2][i], beats[round%2][i]); err != nil {
				return err
			}
			beat++
		}
		return d.decide(ctx)
	}
	return measureEach(m, c.warmUp(), len(pods), decide)
}

// heartbeat returns a node as its kubelet reports it every few minutes: with a later time in its Ready condition.
func heartbeat(node *v1.Node, beat int) *v1.Node {
	updated := *node
	updated.ResourceVersion = fmt.Sprint(1_000_000 + beat)
	updated.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}
	updated.Status.Conditions[0].LastHeartbeatTime.Time = time.Unix(int64(beat), 0)
	return &updated
}

// outOfTreePlugin is a plugin as an author outside of both projects would write it first: it leaves out nodes with a label, and
// prefers nodes with few pods.
type outOfTreePlugin struct{}

const outOfTreeName = "OutOfTree"

func newOutOfTreePlugin(context.Context, apiruntime.Object, fwk.Handle) (fwk.Plugin, error) {
	return &outOfTreePlugin{}, nil
}

var (
	_ fwk.FilterPlugin = &outOfTreePlugin{}
	_ fwk.ScorePlugin  = &outOfTreePlugin{}
)

// Name implements fwk.Plugin.
func (*outOfTreePlugin) Name() string { return outOfTreeName }

// Filter implements fwk.FilterPlugin.
func (*outOfTreePlugin) Filter(_ context.Context, _ fwk.CycleState, _ *v1.Pod, node fwk.NodeInfo) *fwk.Status {
	if _, excluded := node.Node().Labels["example.com/excluded"]; excluded {
		return fwk.NewStatus(fwk.Unschedulable, "the node is excluded")
	}
	return nil
}

// Score implements fwk.ScorePlugin.
func (*outOfTreePlugin) Score(_ context.Context, _ fwk.CycleState, _ *v1.Pod, node fwk.NodeInfo) (int64, *fwk.Status) {
	return max(fwk.MaxScore-int64(len(node.GetPods())), fwk.MinScore), nil
}

// ScoreExtensions implements fwk.ScorePlugin.
func (*outOfTreePlugin) ScoreExtensions() fwk.ScoreExtensions { return nil }
