// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package framework_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// busyNode is a node with something in everything that a node info has.
func busyNode() *framework.NodeInfo {
	n := framework.NewNodeInfo()
	n.SetNode(objects.Node("n").With(func(node *v1.Node) {
		node.Status.Allocatable = objects.Resources("cpu", "8", "example.com/gpu", "4")
	}).Build())
	for _, name := range []string{"c", "a", "d", "b"} {
		n.AddPod(richPod(name))
	}
	return n
}

// abuse does to a node info what plugins do to theirs, official interface and all, and what they may: nothing of it is
// anybody else's.
func abuse(n fwk.NodeInfo) {
	for _, pods := range [][]fwk.PodInfo{n.GetPods(), n.GetPodsWithAffinity(), n.GetPodsWithRequiredAntiAffinity()} {
		_ = append(pods, nil)
		slices.SortFunc(pods, func(a, b fwk.PodInfo) int { return strings.Compare(a.GetPod().Name, b.GetPod().Name) })
	}
	for _, r := range []fwk.Resource{n.GetRequested(), n.GetNonZeroRequested(), n.GetAllocatable()} {
		r.SetMaxResource(objects.Resources("cpu", "100", "example.com/gpu", "100"))
	}
	n.GetUsedPorts().Add("", "UDP", 53)
	for _, image := range n.GetImageStates() {
		image.NumNodes = 99
	}
	clear(n.GetImageStates())
	clear(n.GetPVCRefCounts())
	clear(n.GetPods())
}

// TestWhatANodeInfoReturnsIsTheCallers lets plugins misuse a node info in every state, and every copy of it, from several
// goroutines, while its successor changes. No other reader may see it; the race detector finds what would only crash sometimes.
func TestWhatANodeInfoReturnsIsTheCallers(t *testing.T) {
	images := map[string]*fwk.ImageStateSummary{"nginx": {Size: 7, NumNodes: 2}}
	want := busyNode()
	want.SetImageStates(map[string]*fwk.ImageStateSummary{"nginx": {Size: 7, NumNodes: 2}})
	wanted := viewNode(want)
	check := func(what string, n *framework.NodeInfo) {
		t.Helper()
		if diff := cmp.Diff(wanted, viewNode(n)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	for name, prepare := range map[string]func(n *framework.NodeInfo) *framework.NodeInfo{
		"frozen":      func(n *framework.NodeInfo) *framework.NodeInfo { n.Freeze(images); return n },
		"not frozen":  func(n *framework.NodeInfo) *framework.NodeInfo { n.SetImageStates(images); return n },
		"clone":       func(n *framework.NodeInfo) *framework.NodeInfo { n.SetImageStates(images); return n.Clone() },
		"handed out":  func(n *framework.NodeInfo) *framework.NodeInfo { n.SetImageStates(images); n.GetPods(); return n },
		"from frozen": func(n *framework.NodeInfo) *framework.NodeInfo { n.Freeze(images); return n.Clone() },
	} {
		t.Run(name, func(t *testing.T) {
			n := prepare(busyNode())
			var plugins sync.WaitGroup
			for range 4 {
				plugins.Go(func() {
					mine := n.Snapshot()
					again := mine.Snapshot()
					_ = mine.GetPods()
					abuse(mine)
					check("the copy of a copy", again.(*framework.NodeInfo))
					mine = n.Snapshot()
					kept := mine.GetPods()
					for _, pod := range kept { // which goes on while they are removed
						if err := mine.RemovePod(klog.Logger{}, pod.GetPod()); err != nil {
							t.Error(err)
						}
					}
					if len(mine.GetPods()) != 0 || mine.GetRequested().GetMilliCPU() != 0 || len(kept) != 4 {
						t.Errorf("all pods are removed, but there is %v, and the list kept has %d pods, want 4", mine, len(kept))
					}
				})
			}
			plugins.Wait()
			check("the original", n)
		})
	}
}

// TestFrozenNodeInfosOutliveTheirPlugins: what a plugin does to the node info of a snapshot stays there.
func TestFrozenNodeInfosOutliveTheirPlugins(t *testing.T) {
	n := busyNode()
	n.Freeze(map[string]*fwk.ImageStateSummary{"nginx": {Size: 7, NumNodes: 2}})
	next := n.Successor()
	var plugin sync.WaitGroup
	plugin.Go(func() { abuse(n) })
	next.AddPod(richPod("e"))
	if err := next.RemovePod(klog.Logger{}, richPod("c")); err != nil {
		t.Fatal(err)
	}
	plugin.Wait()
	want := busyNode()
	want.SetImageStates(map[string]*fwk.ImageStateSummary{"nginx": {Size: 7, NumNodes: 2}})
	want.AddPod(richPod("e"))
	if err := want.RemovePod(klog.Logger{}, richPod("c")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(viewNode(want), viewNode(next)); diff != "" {
		t.Errorf("the successor (-want +got):\n%s", diff)
	}
	if got := framework.View(n).Pods(); len(got) != 4 || slices.Contains(got, nil) {
		t.Errorf("the pods that others read: %v", got)
	}
}

// TestSortingPodsInPlace is what plugins do that choose victims: the comparison looks into the list that is being sorted, and
// the order is there the next time.
func TestSortingPodsInPlace(t *testing.T) {
	for name, n := range map[string]fwk.NodeInfo{"new": busyNode(), "copy": busyNode().Snapshot()} {
		slices.SortFunc(n.GetPods(), func(a, b fwk.PodInfo) int { return strings.Compare(a.GetPod().Name, b.GetPod().Name) })
		if diff := cmp.Diff([]string{"a", "b", "c", "d"}, inOrder(n.GetPods())); diff != "" {
			t.Errorf("%s: sorted (-want +got):\n%s", name, diff)
		}
		n.AddPodInfo(n.GetPods()[0])
		if diff := cmp.Diff([]string{"a", "b", "c", "d", "a"}, inOrder(n.GetPods())); diff != "" {
			t.Errorf("%s: sorted, with another (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff([]string{"a", "b", "c", "d", "a"}, inOrder(n.Snapshot().GetPods())); diff != "" {
			t.Errorf("%s: a copy (-want +got):\n%s", name, diff)
		}
	}
}

// TestChangesOfACopyCount: plugins read what a caller has made of the resources of a copy, and so does the caller.
func TestChangesOfACopyCount(t *testing.T) {
	n := busyNode()
	copied := n.Snapshot()
	requested := copied.GetRequested()
	before := requested.GetMilliCPU()
	requested.SetMaxResource(objects.Resources("cpu", "50"))
	copied.AddPodInfo(n.GetPods()[0])
	use := n.GetPods()[0].CalculateResource().Resource.GetMilliCPU()
	for what, got := range map[string]fwk.Resource{
		"kept": requested, "asked again": copied.GetRequested(), "viewed": framework.View(copied).Requested(),
		"copied": copied.Snapshot().GetRequested(),
	} {
		if got.GetMilliCPU() != 50_000+use {
			t.Errorf("%s: %d thousandths of a core, want %d", what, got.GetMilliCPU(), 50_000+use)
		}
	}
	if got := n.GetRequested().GetMilliCPU(); got != before {
		t.Errorf("the original has %d, want %d", got, before)
	}
}

func inOrder(pods []fwk.PodInfo) []string {
	var names []string
	for _, pod := range pods {
		names = append(names, pod.GetPod().Name)
	}
	return names
}

// TestImageNodesStayTheCallers: live image states, with the names of nodes, are copied without them.
func TestImageNodesStayTheCallers(t *testing.T) {
	n := busyNode()
	n.SetImageStates(map[string]*fwk.ImageStateSummary{"nginx": {Size: 7, Nodes: sets.New("n", "m")}})
	want := map[string]*fwk.ImageStateSummary{"nginx": {Size: 7, NumNodes: 2}}
	if diff := cmp.Diff(want, n.Snapshot().GetImageStates()); diff != "" {
		t.Errorf("images of a copy (-want +got):\n%s", diff)
	}
}

// TestRequestsOfAPodAreTheCallers: a plugin that changes what it was told a pod takes changes it for no node, and for no
// other pod that asks for the same.
func TestRequestsOfAPodAreTheCallers(t *testing.T) {
	asking := func(name string) *v1.Pod {
		return objects.Pod(name).Requests("cpu", "1", "example.com/gpu", "1").Build()
	}
	n := framework.NewNodeInfo(asking("a"), asking("b"))
	want := framework.NewNodeInfo(asking("b"))
	for _, pod := range n.GetPods()[:1] {
		pod.CalculateResource().Resource.SetMaxResource(objects.Resources("cpu", "100", "example.com/gpu", "100"))
	}
	if err := n.RemovePod(klog.Logger{}, objects.Pod("a").Build()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(viewNode(want), viewNode(n)); diff != "" {
		t.Errorf("the node without the pod (-want +got):\n%s", diff)
	}
	if got := n.GetPods()[0].CalculateResource().Resource.GetMilliCPU(); got != 1000 {
		t.Errorf("the other pod asks for %d thousandths of a core, want 1000", got)
	}
}
