// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/rouse-scheduler/rouse/test/bench/objects"
)

// decider is a scheduler that only decides: for every pod it pops it, updates the snapshot, finds a node, assumes the pod
// there, and reserves and permits. That is all that happens before the next pod has its turn; binding is left out.
type decider interface {
	addNodes(nodes []*v1.Node) error
	// updateNode delivers an update of a node.
	updateNode(old, updated *v1.Node) error
	// addPod adds a pod that has a node.
	addPod(pod *v1.Pod) error
	// enqueue adds a pod that wants one.
	enqueue(ctx context.Context, pod *v1.Pod)
	// decide takes the next pod through its scheduling cycle. It is an error if there is no node for it.
	decide(ctx context.Context) error
	nodeOf(pod *v1.Pod) (string, error)
	close()
}

const (
	warmUpPods = 10
	// A run makes so many decisions, or as many as it can in this time.
	decisionsPerRun   = 5_000
	decisionsDuration = 1500 * time.Millisecond
)

// decisionCase is a row of decisions, for every number of nodes.
type decisionCase struct {
	shape     shape
	unique    bool
	noSpread  bool
	nodes     []int
	allNodes  bool // whether kube-scheduler also runs with all nodes
	targets   []float64
	quickUpTo int // the largest number of nodes that is measured without -full
}

func (c *decisionCase) name() string {
	name := string(c.shape) + ", identical"
	if c.unique {
		name = string(c.shape) + ", unique"
	}
	if c.noSpread {
		name += ", no default spread"
	}
	return name
}

func decisionCases() []decisionCase {
	sizes, fewer := []int{1_000, 5_000, 15_000, 50_000}, []int{1_000, 5_000, 15_000}
	cases := []decisionCase{
		{shape: basic, nodes: sizes, allNodes: true, targets: []float64{10, 20, 20, 20}, quickUpTo: 15_000},
		{shape: prefNode, nodes: sizes, allNodes: true, targets: []float64{10, 20, 20, 20}, quickUpTo: 5_000},
		{shape: basic, noSpread: true, nodes: sizes, allNodes: true, targets: []float64{5, 5, 5, 5}, quickUpTo: 5_000},
		{shape: basic, unique: true, nodes: sizes, allNodes: true, targets: []float64{5, 5, 5, 5}, quickUpTo: 5_000},
		{shape: prefNode, unique: true, nodes: sizes, targets: []float64{5, 5, 5, 5}},
	}
	for _, s := range []shape{spread, antiHost, prefPodZone} {
		cases = append(cases,
			decisionCase{shape: s, nodes: sizes, allNodes: true, targets: []float64{10, 10, 10, 0}, quickUpTo: 5_000},
			decisionCase{shape: s, unique: true, nodes: fewer, targets: []float64{0, 0, 0}})
	}
	return cases
}

// decisionGroups returns the rows of decisions. Rows with the same nodes share these.
func decisionGroups() []group {
	var groups []group
	for _, c := range decisionCases() {
		for i, size := range c.nodes {
			groups = append(groups, group{work: []work{c.work(size, c.targets[i])}})
		}
	}
	return groups
}

func (c *decisionCase) work(size int, target float64) work {
	run := func(make func(context.Context, settings) (decider, error), s settings) func(context.Context, *meter) (Sample, error) {
		s.noDefaultSpread = c.noSpread
		return func(ctx context.Context, m *meter) (Sample, error) {
			d, err := make(ctx, s)
			if err != nil {
				return nil, err
			}
			defer d.close()
			return measureDecisions(ctx, m, d, objects.Nodes(size, c.shape), objects.Pods(warmUpPods+decisionsPerRun*m.times(), c.shape, c.unique))
		}
	}
	w := work{
		Row: Row{Workload: "decisions", Case: c.name(), Size: size, Unit: "nodes", Metric: WallNanos, Target: target},
		runs: map[Contender]func(context.Context, *meter) (Sample, error){
			Rouse:         run(newRouseDecider, settings{}),
			KubeScheduler: run(newKubeSchedulerDecider, settings{}),
		},
		quick: size <= c.quickUpTo,
	}
	if c.allNodes {
		w.runs[KubeSchedulerAllNodes] = run(newKubeSchedulerDecider, settings{allNodes: true})
	}
	return w
}

// measureDecisions places the pods one after the other. The first ones warm up; all are in the queue beforehand.
func measureDecisions(ctx context.Context, m *meter, d decider, nodes []*v1.Node, pods []*v1.Pod) (Sample, error) {
	if err := d.addNodes(nodes); err != nil {
		return nil, fmt.Errorf("adding nodes: %w", err)
	}
	for _, pod := range pods {
		d.enqueue(ctx, pod)
	}
	return measureEach(m, warmUpPods, len(pods), func() error { return d.decide(ctx) })
}

// measureEach makes so many decisions, or as many as it can in the time of a run. The first ones warm up.
func measureEach(m *meter, warmUp, count int, decide func() error) (Sample, error) {
	for range warmUp {
		if err := decide(); err != nil {
			return nil, err
		}
	}
	decided := 0
	m.start()
	for decided < count-warmUp && m.elapsed() < decisionsDuration*time.Duration(m.times()) {
		if err := decide(); err != nil {
			return nil, err
		}
		decided++
	}
	return m.stop(decided), nil
}
