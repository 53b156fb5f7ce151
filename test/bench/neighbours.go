// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/rouse-scheduler/rouse/scheduler"
	"github.com/rouse-scheduler/rouse/test/bench/objects"
)

// A row of neighbours makes decisions, as those in decisions.go, on a cluster that is full of pods, about pods for which it
// matters where other pods are.

// neighbourCase is a row of neighbours.
type neighbourCase struct {
	name  string
	shape objects.NeighbourShape
	nodes []int
	quick int // the number of nodes that is measured without -full; zero for none
}

func neighbourCases() []neighbourCase {
	return []neighbourCase{
		{name: "three constraints, every selector new", shape: objects.NewSelectors, nodes: []int{1_000}, quick: 1_000},
		{name: "the same, all pods with labels of their own", shape: objects.NewSelectorsOwnLabels, nodes: []int{1_000}},
		{name: "400 ReplicaSets in turns", shape: objects.ReplicaSetsInTurns, nodes: []int{5_000, 50_000}, quick: 5_000},
		{name: "every pod the first of its ReplicaSet", shape: objects.NewReplicaSets, nodes: []int{5_000, 50_000}},
		{name: "10,000 anti-affinity terms of others", shape: objects.TermsOfOthers, nodes: []int{1_000, 5_000}, quick: 1_000},
		{name: "10,000 namespaced anti-affinity terms of others", shape: objects.NamespacedTermsOfOthers, nodes: []int{1_000}},
		{name: "every pod with a new anti-affinity term", shape: objects.NewTerms, nodes: []int{5_000}},
	}
}

func neighbourGroups() []group {
	var groups []group
	for _, c := range neighbourCases() {
		for _, nodes := range c.nodes {
			groups = append(groups, c.group(nodes))
		}
	}
	return groups
}

// group has one row. What it is measured on is made when the first contender starts, and then shared, as it is not changed.
func (c *neighbourCase) group(nodes int) group {
	var cluster *objects.Neighbours
	run := func(build func(context.Context, *objects.Neighbours) (decider, error)) func(context.Context, *meter) (Sample, error) {
		return func(ctx context.Context, m *meter) (Sample, error) {
			if cluster == nil {
				cluster = objects.NewNeighbours(c.shape, nodes)
			}
			d, err := build(ctx, cluster)
			if err != nil {
				return nil, err
			}
			defer d.close()
			return measureNeighbours(ctx, m, d, cluster, warmUpPods+decisionsPerRun*m.times())
		}
	}
	return group{
		work: []work{{
			Row: Row{Workload: "neighbours", Case: c.name, Size: nodes, Unit: "nodes", Metric: WallNanos, Target: 5, CPUTarget: 5},
			runs: map[Contender]func(context.Context, *meter) (Sample, error){
				Rouse: run(newRouseWithNeighbours), KubeScheduler: run(newKubeSchedulerWithNeighbours),
			},
			quick: nodes == c.quick,
		}},
		close: func() { cluster = nil },
	}
}

func newRouseWithNeighbours(ctx context.Context, cluster *objects.Neighbours) (decider, error) {
	client := fake.NewClientset()
	factory := scheduler.NewInformerFactoryWith(client, scheduler.InformerOptions{TrimPods: true})
	d, err := newRouseDeciderOn(ctx, settings{}, client, factory)
	if err != nil {
		return nil, err
	}
	return d, addReplicaSets(factory, cluster.ReplicaSets)
}

func newKubeSchedulerWithNeighbours(ctx context.Context, cluster *objects.Neighbours) (decider, error) {
	var client clientset.Interface = fake.NewClientset()
	factory := informers.NewSharedInformerFactory(client, 0)
	d, err := newKubeSchedulerDeciderOn(ctx, settings{}, client, factory)
	if err != nil {
		return nil, err
	}
	return d, addReplicaSets(factory, cluster.ReplicaSets)
}

// addReplicaSets puts objects into the store of an informer that is never started.
func addReplicaSets(factory informers.SharedInformerFactory, sets []*appsv1.ReplicaSet) error {
	store := factory.Apps().V1().ReplicaSets().Informer().GetIndexer()
	for _, set := range sets {
		if err := store.Add(set); err != nil {
			return fmt.Errorf("adding ReplicaSet %s: %w", set.Name, err)
		}
	}
	return nil
}

// measureNeighbours places pods one after the other, on nodes that have pods. The first ones warm up.
func measureNeighbours(ctx context.Context, m *meter, d decider, cluster *objects.Neighbours, count int) (Sample, error) {
	if err := d.addNodes(cluster.Nodes); err != nil {
		return nil, fmt.Errorf("adding nodes: %w", err)
	}
	for _, pod := range cluster.Pods {
		if err := d.addPod(pod); err != nil {
			return nil, fmt.Errorf("adding pod %s: %w", pod.Name, err)
		}
	}
	incoming := make([]*v1.Pod, count)
	for i := range incoming {
		incoming[i] = cluster.Incoming(i)
		d.enqueue(ctx, incoming[i])
	}
	return measureEach(m, warmUpPods, count, func() error { return d.decide(ctx) })
}
