// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/rouse-scheduler/rouse/test/bench/objects"
)

// Questions about a cluster that does not exist yet are asked of package whatif, and of kube-scheduler's framework as the
// cluster autoscaler uses it.

// asker answers questions about a cluster, or a fork of it.
type asker interface {
	// fork returns a fork. The asker does not change any more while the fork is used.
	fork() asker
	add(objects ...apiruntime.Object) error
	remove(pod *v1.Pod) error
	// fits reports whether some node takes a pod.
	fits(ctx context.Context, pod *v1.Pod) (bool, error)
	// place puts pods on nodes, one after the other, and returns how many got one.
	place(ctx context.Context, pods []*v1.Pod) (placed int, err error)
	// drain moves the pods of a node to others, and returns how many found a place.
	drain(ctx context.Context, node string) (moved int, err error)
	close()
}

type newAsker func(ctx context.Context, objects []apiruntime.Object) (asker, error)

// questionCase is a row of questions.
type questionCase struct {
	name  string
	nodes int
	ask   func(ctx context.Context, m *meter, c *questionCase, a asker) (Sample, error)
	// changed is by how many pods the fork differs from the one that was asked about before; if siblings, from the cluster of
	// which both are forks, so that twice as many change from question to question.
	changed  int
	siblings bool
	// allNodes has kube-scheduler's framework also be asked about every node.
	allNodes bool
	// pods is how many pods are placed, taken away or drained; nodeCount how many nodes are drained, or added.
	pods, nodeCount int
}

const (
	questionNodes  = 5_000
	searchedNodes  = 2_000
	questionsOfRun = 300
)

// questionCases begins with the rows in which kube-scheduler's framework does best.
func questionCases() []questionCase {
	return []questionCase{
		{name: "fits, known shape, forks of ten pods each", nodes: questionNodes, ask: measureKnownShape, changed: 10, siblings: true, allNodes: true},
		{name: "fits, known shape, ten pods differ", nodes: questionNodes, ask: measureKnownShape, changed: 10, allNodes: true},
		{name: "fork", nodes: questionNodes, ask: measureForks},
		{name: "fits, new shape", nodes: questionNodes, ask: measureNewShape, allNodes: true},
		{name: "fits, known shape, a pod differs", nodes: questionNodes, ask: measureKnownShape, changed: 1, allNodes: true},
		{name: "fits, known shape", nodes: questionNodes, ask: measureKnownShape, allNodes: true},
		{name: "drain each of 1,000 nodes", nodes: questionNodes, ask: measureDrains, nodeCount: 1_000},
		{name: "place 1,000 pods on nodes of 500 templates", nodes: questionNodes, ask: measureScaleUp, nodeCount: 500, pods: 1_000},
		{name: "nested search for victims among 700 pods", nodes: searchedNodes, ask: measureSearch, pods: 700},
		{name: "fits nowhere, new shape", nodes: questionNodes, ask: measureNewMisfit, allNodes: true},
		{name: "fits nowhere, known shape", nodes: questionNodes, ask: measureKnownMisfit, allNodes: true},
	}
}

func questionGroups() []group {
	var groups []group
	for _, c := range questionCases() {
		run := func(build newAsker) func(context.Context, *meter) (Sample, error) {
			return func(ctx context.Context, m *meter) (Sample, error) { return c.measure(ctx, m, build) }
		}
		runs := map[Contender]func(context.Context, *meter) (Sample, error){
			Rouse: run(newRouseAsker), KubeScheduler: run(newKubeSchedulerAsker),
		}
		if c.allNodes {
			runs[KubeSchedulerAllNodes] = run(newThoroughKubeSchedulerAsker)
		}
		row := Row{Workload: "what-if", Case: c.name, Size: c.nodes, Unit: "nodes", Metric: WallNanos}
		groups = append(groups, group{work: []work{{Row: row, runs: runs}}})
	}
	return groups
}

func (c *questionCase) measure(ctx context.Context, m *meter, build newAsker) (Sample, error) {
	a, err := build(ctx, objects.Busy(c.nodes))
	if err != nil {
		return nil, err
	}
	defer a.close()
	return c.ask(ctx, m, c, a)
}

func measureForks(_ context.Context, m *meter, _ *questionCase, a asker) (Sample, error) {
	const forks = 100_000
	m.start()
	for range forks {
		a = a.fork()
	}
	return m.stop(forks), nil
}

// measureKnownShape asks about pods like others that were asked about before, each in a fork of its own.
func measureKnownShape(ctx context.Context, m *meter, c *questionCase, a asker) (Sample, error) {
	for i := range 2 * objects.Apps {
		if err := mustFit(ctx, a, objects.AppPod(fmt.Sprint("before-", i), i%objects.Apps), true); err != nil {
			return nil, err
		}
	}
	forks := make([]asker, questionsOfRun)
	for i := range forks {
		if forks[i] = a.fork(); !c.siblings {
			a = forks[i]
		}
		for j := range c.changed {
			other := objects.AppPod(fmt.Sprintf("other-%d-%d", i, j), 3)
			other.Spec.NodeName = objects.BusyNode((i*c.changed + j) % c.nodes).Name
			if err := forks[i].add(other); err != nil {
				return nil, err
			}
		}
	}
	return measureQuestions(ctx, m, true, func(i int) (asker, *v1.Pod) { return forks[i], objects.AppPod(fmt.Sprint("asked-", i), 3) })
}

// measureNewShape asks about pods of which each requests something else.
func measureNewShape(ctx context.Context, m *meter, _ *questionCase, a asker) (Sample, error) {
	return measureQuestions(ctx, m, true, func(i int) (asker, *v1.Pod) {
		return a, objects.PodOfSize(fmt.Sprint("asked-", i), fmt.Sprint("new-", i), fmt.Sprintf("%dm", 1+i), fmt.Sprintf("%dKi", 1+i))
	})
}

// measureKnownMisfit asks about pods that are too large for every node, and alike.
func measureKnownMisfit(ctx context.Context, m *meter, _ *questionCase, a asker) (Sample, error) {
	large := func(name string) *v1.Pod { return objects.PodOfSize(name, "large", "15", "1Gi") }
	if _, err := a.fits(ctx, large("before")); err != nil {
		return nil, err
	}
	return measureQuestions(ctx, m, false, func(i int) (asker, *v1.Pod) { return a, large(fmt.Sprint("asked-", i)) })
}

// measureNewMisfit asks about pods that are too large for every node, and of which each requests something else.
func measureNewMisfit(ctx context.Context, m *meter, _ *questionCase, a asker) (Sample, error) {
	return measureQuestions(ctx, m, false, func(i int) (asker, *v1.Pod) {
		return a, objects.PodOfSize(fmt.Sprint("asked-", i), fmt.Sprint("new-", i), fmt.Sprintf("%dm", 15_000+i), fmt.Sprintf("%dKi", 1+i))
	})
}

// measureQuestions asks whether pods fit, and compares the answers with the right one.
func measureQuestions(ctx context.Context, m *meter, want bool, question func(i int) (asker, *v1.Pod)) (Sample, error) {
	askers, pods := make([]asker, questionsOfRun), make([]*v1.Pod, questionsOfRun)
	for i := range questionsOfRun {
		askers[i], pods[i] = question(i)
	}
	m.start()
	for i := range questionsOfRun {
		if err := mustFit(ctx, askers[i], pods[i], want); err != nil {
			return nil, err
		}
	}
	return m.stop(questionsOfRun), nil
}

func mustFit(ctx context.Context, a asker, pod *v1.Pod, want bool) error {
	fits, err := a.fits(ctx, pod)
	if err == nil && fits != want {
		return fmt.Errorf("whether pod %s fits: %v, want %v", pod.Name, fits, want)
	}
	return err
}

// measureDrains drains nodes, each in a fork of its own.
func measureDrains(ctx context.Context, m *meter, c *questionCase, a asker) (Sample, error) {
	m.start()
	for i := range c.nodeCount {
		moved, err := a.fork().drain(ctx, objects.BusyNode(i).Name)
		if err != nil {
			return nil, err
		}
		if moved != objects.PodsPerBusyNode {
			return nil, fmt.Errorf("%d pods of node %d found a place", moved, i)
		}
	}
	return m.stop(1), nil
}

// measureSearch is the search of a queueing system for room for a large pod: candidates are taken away one by one, each in a
// fork of the fork before, until the pod fits; then each that can stay is put back. Those of the only node that is large
// enough come last.
func measureSearch(ctx context.Context, m *meter, c *questionCase, a asker) (Sample, error) {
	candidates := make([]*v1.Pod, c.pods)
	for i := range candidates {
		candidates[i] = objects.BusyPod(i/objects.PodsPerBusyNode, i%objects.PodsPerBusyNode)
	}
	large := objects.PodOfSize("large", "large", "15500m", "1Gi")
	large.Spec.NodeSelector = map[string]string{v1.LabelHostname: candidates[c.pods-1].Spec.NodeName}
	m.start()
	removed := 0
	for ; ; removed++ {
		fits, err := a.fits(ctx, large)
		if err != nil {
			return nil, err
		}
		if fits {
			break
		}
		if removed == c.pods {
			return nil, errors.New("the large pod does not fit without all candidates")
		}
		a = a.fork()
		if err := a.remove(candidates[removed]); err != nil {
			return nil, err
		}
	}
	for i := removed - 1; i >= 0; i-- {
		back := a.fork()
		if err := back.add(candidates[i]); err != nil {
			return nil, err
		}
		fits, err := back.fits(ctx, large)
		if err != nil {
			return nil, err
		}
		if fits {
			a = back
		}
	}
	return m.stop(1), nil
}

// measureScaleUp adds a node of each template to a fork, and places pods for which the cluster has no room.
func measureScaleUp(ctx context.Context, m *meter, c *questionCase, a asker) (Sample, error) {
	var templates []apiruntime.Object
	for i := range c.nodeCount {
		templates = append(templates, objects.Template(i))
	}
	pods := make([]*v1.Pod, c.pods)
	for i := range pods {
		pods[i] = objects.AppPod(fmt.Sprint("pending-", i), i%objects.Apps)
		size := objects.PodOfSize("", "", fmt.Sprint(12+i%3), "1Gi")
		pods[i].Spec.Containers = size.Spec.Containers
	}
	m.start()
	fork := a.fork()
	if err := fork.add(templates...); err != nil {
		return nil, err
	}
	placed, err := fork.place(ctx, pods)
	if err != nil {
		return nil, err
	}
	sample := m.stop(1)
	if placed < len(pods)/2 {
		return nil, fmt.Errorf("only %d pods were placed", placed)
	}
	return sample, nil
}
