// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package framework_test

import (
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// TestSucceedingANodeInfoIsCheap does what the cache does for a decision: the node info that a snapshot has is succeeded by
// one with another pod.
func TestSucceedingANodeInfoIsCheap(t *testing.T) {
	n := framework.NewNodeInfo()
	info, err := framework.NewPodInfo(objects.Pod("another").Container("a", "cpu", "1").ContainerPort(v1.ContainerPort{ContainerPort: 80}).Build())
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		n.AddPodInfo(info)
	}
	if got := testing.AllocsPerRun(20, func() { // the list has room for 13 more, then again for 28
		n.Freeze(nil)
		n = n.Successor()
		n.AddPodInfo(info)
	}); got > 1 {
		t.Errorf("a successor with another pod makes %v allocations, want 1", got)
	}
}

func TestFreezingANodeInfoIsNoChange(t *testing.T) {
	n := framework.NewNodeInfo(objects.Pod("p").Build())
	generation := n.GetGeneration()
	n.Freeze(map[string]*fwk.ImageStateSummary{"nginx": {Size: 7, NumNodes: 2}})
	next := n.Successor()
	if n.GetGeneration() != generation || next.GetGeneration() != generation {
		t.Errorf("generations are %d and %d, want %d", n.GetGeneration(), next.GetGeneration(), generation)
	}
	want := map[string]fwk.ImageStateSummary{"nginx": {Size: 7, NumNodes: 2}}
	if diff := cmp.Diff(want, viewNode(next).Images); diff != "" {
		t.Errorf("images of the successor (-want +got):\n%s", diff)
	}
}

// TestFrozenNodeInfosAreReadTogether is for the race detector: a frozen node info is cloned and read while its successor
// changes.
func TestFrozenNodeInfosAreReadTogether(t *testing.T) {
	pods := []*v1.Pod{richPod("a"), richPod("b"), objects.Pod("c").Build()} // then there is room for a fourth
	n, want := framework.NewNodeInfo(pods...), viewNode(framework.NewNodeInfo(pods...))
	n.Freeze(nil)
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			clone := n.Clone()
			clone.AddPod(objects.Pod("mine").Build())
			_ = append(n.GetPods(), nil)
			if diff := cmp.Diff(want, viewNode(n)); diff != "" {
				t.Errorf("the frozen node info (-want +got):\n%s", diff)
			}
		})
	}
	next := n.Successor()
	next.AddPod(objects.Pod("d").Build())
	if err := next.RemovePod(klog.Logger{}, richPod("a")); err != nil {
		t.Error(err)
	}
	readers.Wait()
}
