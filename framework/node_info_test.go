// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package framework_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	ndf "k8s.io/component-helpers/nodedeclaredfeatures"
	"k8s.io/component-helpers/nodedeclaredfeatures/features"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// nodeView is everything that a node info says, in comparable form. Lists of pods are sorted, because their order is
// not promised, and empty maps are nil.
type nodeView struct {
	Node              string
	Pods              []string
	WithAffinity      []string
	WithAntiAffinity  []string
	WithWideAffinity  []string
	Ports             fwk.HostPortInfo
	Requested         framework.Resource
	NonZeroRequested  framework.Resource
	Allocatable       framework.Resource
	Images            map[string]fwk.ImageStateSummary
	Claims            map[string]int
	Features          []string
	FeaturesAreMapped bool
}

func viewNode(info fwk.NodeInfo) nodeView {
	view := nodeView{
		Pods:             podNames(info.GetPods()),
		WithAffinity:     podNames(info.GetPodsWithAffinity()),
		WithAntiAffinity: podNames(info.GetPodsWithRequiredAntiAffinity()),
		WithWideAffinity: podNames(info.GetPodsWithRequiredNonHostScopedAntiAffinity()),
		Requested:        viewResource(info.GetRequested()),
		NonZeroRequested: viewResource(info.GetNonZeroRequested()),
		Allocatable:      viewResource(info.GetAllocatable()),
	}
	if node := info.Node(); node != nil {
		view.Node = node.Name
	}
	if ports := info.GetUsedPorts(); len(ports) > 0 {
		view.Ports = ports
	}
	if claims := info.GetPVCRefCounts(); len(claims) > 0 {
		view.Claims = claims
	}
	for name, state := range info.GetImageStates() {
		if view.Images == nil {
			view.Images = map[string]fwk.ImageStateSummary{}
		}
		view.Images[name] = *state
	}
	names, err := ndf.DefaultFramework.Unmap(info.GetNodeDeclaredFeatures())
	view.Features, view.FeaturesAreMapped = names, err == nil
	return view
}

func viewResource(r fwk.Resource) framework.Resource {
	view := *r.(*framework.Resource)
	if len(view.ScalarResources) == 0 {
		view.ScalarResources = nil
	}
	return view
}

func podNames(infos []fwk.PodInfo) []string {
	var names []string
	for _, info := range infos {
		names = append(names, info.GetPod().Namespace+"/"+info.GetPod().Name)
	}
	slices.Sort(names)
	return names
}

// richPod has something of everything that a node info counts.
func richPod(name string) *v1.Pod {
	return objects.Pod(name).
		Container("a", "cpu", "1", "ephemeral-storage", "5", "example.com/gpu", "1").
		ContainerPort(v1.ContainerPort{HostPort: 80}).
		ContainerPort(v1.ContainerPort{HostPort: 53, HostIP: "10.0.0.1", Protocol: v1.ProtocolUDP}).
		PersistentVolumeClaim("data", "logs", "data").
		With(withAffinity(&v1.PodAffinity{})).
		PodAntiAffinity("zone", "app=web").Build()
}

func TestNodeInfoAggregates(t *testing.T) {
	preferred := []v1.WeightedPodAffinityTerm{{Weight: 1, PodAffinityTerm: term("zone", "web")}}
	n := framework.NewNodeInfo(
		richPod("rich"),
		objects.Pod("plain").Container("a", "memory", "1Mi").Build(),
		objects.Pod("preferring").Container("a", "cpu", "1", "memory", "1Mi").
			With(withAntiAffinity(&v1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: preferred})).Build(),
		objects.Pod("broken").Container("a", "cpu", "0", "memory", "0").With(withAntiAffinity(&v1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{brokenTerm()}})).Build(),
		objects.Pod("choosy").Container("a", "cpu", "0", "memory", "0").With(func(pod *v1.Pod) { affinityOf(pod).NodeAffinity = &v1.NodeAffinity{} }).Build(),
	)
	n.SetNode(objects.Node("n").With(func(node *v1.Node) {
		node.Status.Allocatable = objects.Resources("cpu", "8", "memory", "1Gi", "pods", "110", "example.com/gpu", "4", "cores", "9")
		node.Status.Capacity = objects.Resources("cpu", "80")
		node.Status.DeclaredFeatures = []string{"AnUnknownFeature", knownFeature()}
	}).Build())
	n.SetImageStates(map[string]*fwk.ImageStateSummary{"nginx": {Size: 7, Nodes: sets.New("n", "m")}})
	want := nodeView{
		Node:             "n",
		Pods:             []string{"default/broken", "default/choosy", "default/plain", "default/preferring", "default/rich"},
		WithAffinity:     []string{"default/broken", "default/preferring", "default/rich"},
		WithAntiAffinity: []string{"default/rich"},
		Ports: fwk.HostPortInfo{
			"0.0.0.0":  {fwk.ProtocolPort{Protocol: "TCP", Port: 80}: {}},
			"10.0.0.1": {fwk.ProtocolPort{Protocol: "UDP", Port: 53}: {}},
		},
		Requested: framework.Resource{MilliCPU: 2000, Memory: 2 * mebibyte, EphemeralStorage: 5,
			ScalarResources: map[v1.ResourceName]int64{"example.com/gpu": 1}},
		NonZeroRequested: framework.Resource{MilliCPU: 2100, Memory: 202 * mebibyte},
		Allocatable: framework.Resource{MilliCPU: 8000, Memory: 1024 * mebibyte, AllowedPodNumber: 110,
			ScalarResources: map[v1.ResourceName]int64{"example.com/gpu": 4}},
		Images:            map[string]fwk.ImageStateSummary{"nginx": {Size: 7, Nodes: sets.New("n", "m")}},
		Claims:            map[string]int{"default/data": 2, "default/logs": 1},
		Features:          []string{knownFeature()},
		FeaturesAreMapped: true,
	}
	if diff := cmp.Diff(want, viewNode(n)); diff != "" {
		t.Errorf("node info (-want +got):\n%s", diff)
	}
}

func knownFeature() string { return features.AllFeatures[0].Name() }

func TestNodeInfoRemovalRestoresTheEmptyAggregate(t *testing.T) {
	n := framework.NewNodeInfo()
	empty := viewNode(n)
	pods := []*v1.Pod{richPod("a"), objects.Pod("b").Build(), richPod("c")}
	for _, pod := range pods {
		n.AddPod(pod)
	}
	for _, pod := range pods {
		if err := n.RemovePod(klog.Logger{}, pod); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(empty, viewNode(n)); diff != "" {
		t.Errorf("after removing every pod (-want +got):\n%s", diff)
	}
	if n.GetPods() != nil || n.GetPodsWithAffinity() != nil || n.GetPodsWithRequiredAntiAffinity() != nil {
		t.Error("an empty list of pods is not nil")
	}
}

// TestRemovePodSubtractsWhatWasAdded changes the pod while it is on the node.
func TestRemovePodSubtractsWhatWasAdded(t *testing.T) {
	pod := objects.Pod("p").Container("a", "cpu", "1").Build()
	n := framework.NewNodeInfo(pod)
	smaller := objects.Pod("p").Container("a", "cpu", "500m").Build()
	if err := n.RemovePod(klog.Logger{}, smaller); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(viewNode(framework.NewNodeInfo()), viewNode(n)); diff != "" {
		t.Errorf("after the removal (-want +got):\n%s", diff)
	}
}

func TestRemovePodThatIsNotThere(t *testing.T) {
	here := objects.Pod("here").Build()
	reborn := objects.Pod("here").Build()
	reborn.UID = "another"
	twin := objects.Pod("twin").Build()
	twin.UID = here.UID
	tests := []struct {
		name   string
		remove *v1.Pod
		want   string
	}{
		{"other name", objects.Pod("gone").Build(), `no pod default/gone with UID "default/gone" on node n`},
		{"same name, other UID", reborn, `no pod default/here with UID "another" on node n`},
		{"same UID, other name", twin, `no pod default/twin with UID "default/here" on node n`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			n := framework.NewNodeInfo(here)
			n.SetNode(objects.Node("n").Build())
			before, generation := viewNode(n), n.GetGeneration()
			if err := n.RemovePod(klog.Logger{}, test.remove); err == nil || err.Error() != test.want {
				t.Errorf("RemovePod = %v, want %s", err, test.want)
			}
			if diff := cmp.Diff(before, viewNode(n)); diff != "" || n.GetGeneration() != generation {
				t.Errorf("a failed removal changed the node info, generation %d to %d:\n%s", generation, n.GetGeneration(), diff)
			}
		})
	}
	if err := framework.NewNodeInfo().RemovePod(klog.Logger{}, here); err == nil || !strings.Contains(err.Error(), "(unknown)") {
		t.Errorf("RemovePod without a node = %v, want an error that says that the node is unknown", err)
	}
}

// TestRemovePodWithoutUID tells pods of hand-written manifests apart.
func TestRemovePodWithoutUID(t *testing.T) {
	anonymous := func(name string) *v1.Pod { return objects.Pod(name).With(func(pod *v1.Pod) { pod.UID = "" }).Build() }
	n := framework.NewNodeInfo(anonymous("a"), anonymous("b"))
	if err := n.RemovePod(klog.Logger{}, anonymous("b")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"default/a"}, podNames(n.GetPods())); diff != "" {
		t.Errorf("pods left (-want +got):\n%s", diff)
	}
}

func TestNodeInfoSharedPort(t *testing.T) {
	n := framework.NewNodeInfo(richPod("a"), richPod("b"))
	if err := n.RemovePod(klog.Logger{}, richPod("a")); err != nil {
		t.Fatal(err)
	}
	if got := n.GetUsedPorts().Len(); got != 0 {
		t.Errorf("%d ports in use, want 0: the first of two pods with one port frees it", got)
	}
}

func TestNodeInfoGenerations(t *testing.T) {
	var generations framework.Generations
	a, b := generations.NewNodeInfo(), generations.NewNodeInfo()
	last := max(a.GetGeneration(), b.GetGeneration())
	changes := []struct {
		name   string
		change func(*framework.NodeInfo)
	}{
		{"AddPod", func(n *framework.NodeInfo) { n.AddPod(objects.Pod("p").Build()) }},
		{"AddPodInfo", func(n *framework.NodeInfo) {
			info, _ := framework.NewPodInfo(objects.Pod("q").Build())
			n.AddPodInfo(info)
		}},
		{"RemovePod", func(n *framework.NodeInfo) {
			if err := n.RemovePod(klog.Logger{}, objects.Pod("p").Build()); err != nil {
				t.Error(err)
			}
		}},
		{"SetNode", func(n *framework.NodeInfo) { n.SetNode(objects.Node("n").Build()) }},
		{"SetImageStates", func(n *framework.NodeInfo) { n.SetImageStates(nil) }},
		{"RemoveNode", func(n *framework.NodeInfo) { n.RemoveNode() }},
	}
	for _, change := range changes {
		for name, n := range map[string]*framework.NodeInfo{"first": a, "second": b} {
			change.change(n)
			if n.GetGeneration() <= last {
				t.Errorf("%s of the %s node: generation %d is not above %d", change.name, name, n.GetGeneration(), last)
			}
			last = n.GetGeneration()
		}
	}
	clone := a.Clone()
	if clone.GetGeneration() != a.GetGeneration() {
		t.Errorf("clone has generation %d, want that of the original, %d", clone.GetGeneration(), a.GetGeneration())
	}
	clone.AddPod(objects.Pod("p").Build())
	if clone.GetGeneration() <= last {
		t.Errorf("a changed clone has generation %d, not above %d", clone.GetGeneration(), last)
	}
}

// TestCopyingANodeInfoIsCheap has a node with many pods copied, and a pod assumed on it, as with every decision.
func TestCopyingANodeInfoIsCheap(t *testing.T) {
	n := framework.NewNodeInfo()
	n.SetNode(objects.Node("n").Build())
	for i := range 100 {
		n.AddPod(objects.Pod(fmt.Sprint(i)).Container("a", "cpu", "1", "example.com/gpu", "1").ContainerPort(v1.ContainerPort{HostPort: int32(i + 1)}).PersistentVolumeClaim("data").Build())
	}
	if got := testing.AllocsPerRun(100, func() { n.Clone() }); got > 1 {
		t.Errorf("copying a node with 100 pods makes %v allocations, want 1", got)
	}
	info, err := framework.NewPodInfo(objects.Pod("another").Container("a", "cpu", "1").Build())
	if err != nil {
		t.Fatal(err)
	}
	var last *framework.NodeInfo
	grown := testing.AllocsPerRun(100, func() {
		n.AddPodInfo(info)
		last = n.Clone()
	})
	if grown > 3 || len(last.GetPods()) < 200 { // a map of scalar resources, which must not change in the copy, is two
		t.Errorf("adding a pod and copying the node makes %v allocations, want 3 at most", grown)
	}
}

func TestNodeInfoZeroValue(t *testing.T) {
	var n framework.NodeInfo
	n.AddPod(richPod("p"))
	if diff := cmp.Diff(viewNode(framework.NewNodeInfo(richPod("p"))), viewNode(&n)); diff != "" {
		t.Errorf("zero value with a pod (-NewNodeInfo +zero):\n%s", diff)
	}
	var none *framework.NodeInfo
	if none.Node() != nil {
		t.Error("a nil node info has a node")
	}
}

func TestNodeInfoGhost(t *testing.T) {
	n := framework.NewNodeInfo(richPod("p"))
	n.SetNode(objects.Node("n").With(func(node *v1.Node) {
		node.Status.Allocatable = objects.Resources("cpu", "8")
		node.Status.DeclaredFeatures = []string{knownFeature()}
	}).Build())
	n.SetImageStates(map[string]*fwk.ImageStateSummary{"nginx": {}})
	n.RemoveNode()
	if diff := cmp.Diff(viewNode(framework.NewNodeInfo(richPod("p"))), viewNode(n)); diff != "" {
		t.Errorf("after RemoveNode (-want +got):\n%s", diff)
	}
	if n.Node() != nil {
		t.Errorf("Node = %v after RemoveNode", n.Node())
	}
}

// TestNodeInfoClone changes a clone in every way and looks at the original, and the other way around.
func TestNodeInfoClone(t *testing.T) {
	fresh := func() *framework.NodeInfo {
		n := framework.NewNodeInfo(richPod("a"), richPod("b"), objects.Pod("c").Build())
		n.SetNode(objects.Node("n").Allocatable("cpu", "8", "example.com/gpu", "1").Build())
		n.SetImageStates(map[string]*fwk.ImageStateSummary{"nginx": {Size: 7, NumNodes: 2}})
		return n
	}
	spoil := func(n *framework.NodeInfo) {
		for _, pod := range []string{"a", "c"} {
			if err := n.RemovePod(klog.Logger{}, objects.Pod(pod).Build()); err != nil {
				t.Fatal(err)
			}
		}
		n.AddPod(objects.Pod("d").Container("a", "example.com/gpu", "5").ContainerPort(v1.ContainerPort{HostPort: 81}).PersistentVolumeClaim("more", "data").Build())
		n.SetImageStates(map[string]*fwk.ImageStateSummary{"busybox": {}})
		n.SetNode(objects.Node("m").Build())
	}
	want := viewNode(fresh())

	original := fresh()
	clone := original.Clone()
	if diff := cmp.Diff(want, viewNode(clone)); diff != "" {
		t.Errorf("clone (-want +got):\n%s", diff)
	}
	spoil(clone)
	if diff := cmp.Diff(want, viewNode(original)); diff != "" {
		t.Errorf("changing the clone changed the original (-want +got):\n%s", diff)
	}

	original = fresh()
	snapshot := original.Snapshot()
	spoil(original)
	if diff := cmp.Diff(want, viewNode(snapshot)); diff != "" {
		t.Errorf("changing the original changed the snapshot (-want +got):\n%s", diff)
	}
}

// TestNodeInfoCloneImages copies live image states, which name their nodes, as counts.
func TestNodeInfoCloneImages(t *testing.T) {
	live := &fwk.ImageStateSummary{Size: 7, Nodes: sets.New("n", "m")}
	n := framework.NewNodeInfo()
	n.SetImageStates(map[string]*fwk.ImageStateSummary{"nginx": live})
	first := n.Clone()
	live.Nodes.Insert("o")
	want := map[string]fwk.ImageStateSummary{"nginx": {Size: 7, NumNodes: 2}}
	if diff := cmp.Diff(want, viewNode(first).Images); diff != "" {
		t.Errorf("images of the clone (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, viewNode(first.Clone()).Images); diff != "" {
		t.Errorf("images of the clone's clone (-want +got):\n%s", diff)
	}
}

func TestNodeInfoString(t *testing.T) {
	n := framework.NewNodeInfo(objects.Pod("p").Build())
	n.SetNode(objects.Node("n").Build())
	for _, part := range []string{"node n", "[default/p]"} {
		if got := n.String(); !strings.Contains(got, part) {
			t.Errorf("String = %q, want it to contain %q", got, part)
		}
	}
	n.RemoveNode()
	if got := n.String(); !strings.Contains(got, "(no node)") {
		t.Errorf("String = %q, want it to say that there is no node", got)
	}
}
