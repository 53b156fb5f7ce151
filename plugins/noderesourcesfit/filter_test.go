// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package noderesourcesfit

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

const (
	gpu  = "example.com/gpu"
	huge = "hugepages-2Mi"
)

// node offers 10 cores, 20 GiB, 32 GiB of ephemeral storage, 32 pods, 5 GPUs, 1 GiB of huge pages.
func node(more ...string) *v1.Node {
	offered := append([]string{
		"cpu", "10", "memory", "20Gi", "ephemeral-storage", "32Gi", "pods", "32", gpu, "5", huge, "1Gi",
	}, more...)
	return objects.Node("n").Allocatable(offered...).Build()
}

func requests(pairs ...string) *v1.Pod { return objects.Pod("p").Container("a", pairs...).Build() }

func unschedulable(reasons ...string) *fwk.Status {
	return fwk.NewStatus(fwk.Unschedulable, reasons...)
}

func unresolvable(reasons ...string) *fwk.Status {
	return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, reasons...)
}

// filterCase asks whether a pod fits next to others.
type filterCase struct {
	name   string
	pod    *v1.Pod
	onNode *v1.Pod
	want   *fwk.Status
}

func runFilterCases(t *testing.T, args *configv1.NodeResourcesFitArgs, dra fwk.SharedDRAManager, node *v1.Node, tests []filterCase) {
	t.Helper()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pl, state := newPlugin(t, args, dra), framework.NewCycleState()
			result, status := pl.PreFilter(t.Context(), state, tt.pod, nil)
			if result != nil || status != nil {
				t.Errorf("PreFilter: got %v, %v, want nothing", result, status)
			}
			nodeInfo := fixture.NodeInfo(node)
			if tt.onNode != nil {
				nodeInfo.AddPod(tt.onNode)
			}
			fixture.CheckStatus(t, pl.Filter(t.Context(), state, tt.pod, nodeInfo), tt.want)
			fixture.CheckStatus(t, pl.Filter(t.Context(), state.Clone(), tt.pod, nodeInfo), tt.want)
		})
	}
}

func TestFilter(t *testing.T) {
	runFilterCases(t, nil, nil, node(), []filterCase{
		{"no requests on a full node", requests(), requests("cpu", "10", "memory", "20Gi"), nil},
		{
			"enough of everything", requests("cpu", "1", "memory", "1Gi", "ephemeral-storage", "1Gi"),
			requests("cpu", "5", "memory", "5Gi"), nil,
		},
		{"equal edge", requests("cpu", "5", "memory", "10Gi"), requests("cpu", "5", "memory", "10Gi"), nil},
		{"insufficient cpu", requests("cpu", "5001m"), requests("cpu", "5"), unschedulable("Insufficient cpu")},
		{"insufficient memory", requests("memory", "11Gi"), requests("memory", "10Gi"), unschedulable("Insufficient memory")},
		{
			"insufficient ephemeral storage", requests("ephemeral-storage", "20Gi"),
			requests("ephemeral-storage", "20Gi"), unschedulable("Insufficient ephemeral-storage"),
		},
		{"more cpu than the node has", requests("cpu", "11"), nil, unresolvable("Insufficient cpu")},
		{"more memory than the node has", requests("memory", "21Gi"), nil, unresolvable("Insufficient memory")},
		{
			"more ephemeral storage than the node has", requests("ephemeral-storage", "33Gi"), nil,
			unresolvable("Insufficient ephemeral-storage"),
		},
		{
			"all shortages are listed",
			requests("cpu", "6", "memory", "11Gi", "ephemeral-storage", "20Gi", gpu, "3", huge, "1Gi"),
			requests("cpu", "5", "memory", "10Gi", "ephemeral-storage", "20Gi", gpu, "3", huge, "512Mi"),
			unschedulable("Insufficient cpu", "Insufficient memory", "Insufficient ephemeral-storage", "Insufficient "+gpu, "Insufficient "+huge),
		},
		{
			"one shortage is forever", requests("cpu", "6", "memory", "21Gi"), requests("cpu", "5"),
			unresolvable("Insufficient cpu", "Insufficient memory"),
		},
		{
			"zero-quantity requests", requests("cpu", "0", "memory", "0", gpu, "0", "example.com/unknown", "0"),
			requests("cpu", "10", "memory", "20Gi", gpu, "5"), nil,
		},
	})
}

func TestFilterContainersAddUp(t *testing.T) {
	runFilterCases(t, nil, nil, node(), []filterCase{
		{
			"init container above the sum",
			objects.Pod("p").InitContainer("init", "cpu", "6").Container("a", "cpu", "1").Container("b", "cpu", "1").Build(),
			requests("cpu", "5"), unschedulable("Insufficient cpu"),
		},
		{
			"init containers are not added up",
			objects.Pod("p").InitContainer("init", "cpu", "5").InitContainer("init", "cpu", "5").Container("a", "cpu", "1").Build(),
			requests("cpu", "5"), nil,
		},
		{
			"containers are added up",
			objects.Pod("p").InitContainer("init", "cpu", "1").Container("a", "cpu", "3").Container("b", "cpu", "3").Build(),
			requests("cpu", "5"), unschedulable("Insufficient cpu"),
		},
		{
			"sidecars are added to containers",
			objects.Pod("p").Sidecar("sidecar", "cpu", "3").Container("a", "cpu", "3").Build(), requests("cpu", "5"),
			unschedulable("Insufficient cpu"),
		},
		{
			"sidecars are added to later init containers",
			objects.Pod("p").Sidecar("sidecar", "cpu", "3").InitContainer("init", "cpu", "3").Container("a", "cpu", "1").Build(),
			requests("cpu", "5"), unschedulable("Insufficient cpu"),
		},
		{
			"sidecars are not added to earlier init containers",
			objects.Pod("p").InitContainer("init", "cpu", "5").Sidecar("sidecar", "cpu", "3").Container("a", "cpu", "1").Build(),
			requests("cpu", "5"), nil,
		},
		{
			"overhead", objects.Pod("p").Container("a", "cpu", "5").Overhead("cpu", "1m").Build(),
			requests("cpu", "5"), unschedulable("Insufficient cpu"),
		},
		{"overhead fits", objects.Pod("p").Container("a", "cpu", "4").Overhead("cpu", "1").Build(), requests("cpu", "5"), nil},
	})
}

func TestFilterScalarResources(t *testing.T) {
	runFilterCases(t, nil, nil, node(), []filterCase{
		{"extended resource", requests(gpu, "2"), requests(gpu, "3"), nil},
		{"extended resource, insufficient", requests(gpu, "3"), requests(gpu, "3"), unschedulable("Insufficient " + gpu)},
		{"extended resource, more than the node has", requests(gpu, "6"), nil, unresolvable("Insufficient " + gpu)},
		{
			"extended resource of init containers",
			objects.Pod("p").InitContainer("init", gpu, "3").Container("a", gpu, "1").Build(), requests(gpu, "3"),
			unschedulable("Insufficient " + gpu),
		},
		{"unknown extended resource", requests("example.com/unknown", "1"), nil, unresolvable("Insufficient example.com/unknown")},
		{
			"resource of kubernetes.io", requests("kubernetes.io/something", "10"), nil,
			unresolvable("Insufficient kubernetes.io/something"),
		},
		{
			"resource of a subdomain of kubernetes.io", requests("subdomain.kubernetes.io/something", "10"), nil,
			unresolvable("Insufficient subdomain.kubernetes.io/something"),
		},
		{"huge pages", requests(huge, "512Mi"), requests(huge, "512Mi"), nil},
		{"huge pages, insufficient", requests(huge, "512Mi"), requests(huge, "1Gi"), unschedulable("Insufficient " + huge)},
		{"a resource without domain is not accounted for", requests("something", "10"), nil, nil},
	})
}

func TestFilterPodLevelRequests(t *testing.T) {
	runFilterCases(t, nil, nil, node(), []filterCase{
		{
			"pod-level cpu replaces the containers'",
			objects.Pod("p").Container("a", "cpu", "1").PodRequests("cpu", "6").Build(), requests("cpu", "5"),
			unschedulable("Insufficient cpu"),
		},
		{
			"pod-level memory may be less than the containers'",
			objects.Pod("p").Container("a", "memory", "11Gi").PodRequests("memory", "1Gi").Build(),
			requests("memory", "10Gi"), nil,
		},
		{
			"pod-level huge pages", objects.Pod("p").Container("a").PodRequests(huge, "1Gi").Build(),
			requests(huge, "512Mi"), unschedulable("Insufficient " + huge),
		},
		{
			"pod-level requests leave other resources alone",
			objects.Pod("p").Container("a", "memory", "11Gi").PodRequests("cpu", "1").Build(),
			requests("memory", "10Gi"), unschedulable("Insufficient memory"),
		},
		{
			"pod-level requests of a pod on the node", requests("cpu", "5"),
			objects.Pod("other").Container("a", "cpu", "1").PodRequests("cpu", "6").Build(),
			unschedulable("Insufficient cpu"),
		},
	})
}

func TestFilterPodCount(t *testing.T) {
	full := objects.Node("n").Allocatable("cpu", "10", "memory", "20Gi", "pods", "1").Build()
	runFilterCases(t, nil, nil, full, []filterCase{
		{"room for one", requests("cpu", "1"), nil, nil},
		{"full", requests("cpu", "1"), requests("cpu", "1"), unschedulable("Too many pods")},
		{"full, pod without requests", requests(), requests(), unschedulable("Too many pods")},
		{
			"full, and a resource is short", requests("cpu", "10"), requests("cpu", "1"),
			unschedulable("Too many pods", "Insufficient cpu"),
		},
	})
	none := objects.Node("n").Allocatable("cpu", "10", "pods", "0").Build()
	runFilterCases(t, nil, nil, none, []filterCase{
		{"a node for no pods is not forever", requests("cpu", "1"), nil, unschedulable("Too many pods")},
	})
}

func TestFilterIgnoredResources(t *testing.T) {
	args := strategyArgs(configv1.LeastAllocated, "cpu", "memory")
	args.IgnoredResources = []string{"example.com/named", huge}
	args.IgnoredResourceGroups = []string{"group.example.com", "kubernetes.io"}
	runFilterCases(t, args, nil, node(), []filterCase{
		{"ignored by name", requests("example.com/named", "2"), nil, nil},
		{"ignored by group", requests("group.example.com/any", "2"), nil, nil},
		{
			"another of the domain of an ignored name", requests("example.com/other", "2"), nil,
			unresolvable("Insufficient example.com/other"),
		},
		{
			"a group is the whole prefix", requests("sub.group.example.com/any", "2"), nil,
			unresolvable("Insufficient sub.group.example.com/any"),
		},
		{"native resources can't be ignored by name", requests(huge, "2Gi"), nil, unresolvable("Insufficient " + huge)},
		{
			"native resources can't be ignored by group", requests("kubernetes.io/x", "2"), nil,
			unresolvable("Insufficient kubernetes.io/x"),
		},
	})
}

func TestFilterResourcesServedByDevices(t *testing.T) {
	const implicit = "deviceclass.resource.kubernetes.io/fast"
	dra := &fixture.DeviceClasses{Serving: map[v1.ResourceName]string{gpu: "gpus", "example.com/nic": "nics", implicit: "fast"}}
	t.Run("node offers the resource itself", func(t *testing.T) {
		runFilterCases(t, nil, dra, node(), []filterCase{
			{"enough", requests(gpu, "2"), nil, nil},
			{"insufficient", requests(gpu, "3"), requests(gpu, "3"), unschedulable("Insufficient " + gpu)},
		})
	})
	t.Run("node does not offer the resource", func(t *testing.T) {
		runFilterCases(t, nil, dra, node(), []filterCase{
			{"left to devices", requests("example.com/nic", "2"), nil, nil},
			{"left to devices by the name of the class", requests(implicit, "2"), nil, nil},
			{"without a class", requests("example.com/other", "2"), nil, unresolvable("Insufficient example.com/other")},
			{"other resources are still checked", requests("example.com/nic", "2", "cpu", "11"), nil, unresolvable("Insufficient cpu")},
		})
	})
	t.Run("node offers none of the resource", func(t *testing.T) {
		runFilterCases(t, nil, dra, node("example.com/nic", "0"), []filterCase{
			{"left to devices", requests("example.com/nic", "2"), nil, nil},
		})
	})
	t.Run("no manager", func(t *testing.T) {
		runFilterCases(t, nil, nil, node(), []filterCase{
			{"not left to devices", requests("example.com/nic", "2"), nil, unresolvable("Insufficient example.com/nic")},
		})
	})
}

func TestFilterWithoutPreFilter(t *testing.T) {
	status := newPlugin(t, nil, nil).Filter(t.Context(), framework.NewCycleState(), requests(), fixture.NodeInfo(node()))
	if !status.IsError() {
		t.Errorf("got status %v, want Error", status.Code())
	}
}

func TestFilterDoesNotAllocate(t *testing.T) {
	ctx, nodeInfo := t.Context(), fixture.NodeInfo(node(), requests("cpu", "1"))
	for name, pod := range map[string]*v1.Pod{
		"plain pod":              requests("cpu", "1", "memory", "1Gi"),
		"with extended resource": requests("cpu", "1", gpu, "1"),
	} {
		pl, state := newPlugin(t, nil, nil), framework.NewCycleState()
		pl.PreFilter(ctx, state, pod, nil)
		if allocs := testing.AllocsPerRun(100, func() { pl.Filter(ctx, state, pod, nodeInfo) }); allocs != 0 {
			t.Errorf("%s: a passing filter allocates %v times", name, allocs)
		}
	}
}

func BenchmarkFilter(b *testing.B) {
	ctx := b.Context()
	nodeInfo := fixture.NodeInfo(node(), requests("cpu", "5", gpu, "3"))
	for _, bb := range []struct {
		name string
		pod  *v1.Pod
	}{
		{"fits", requests("cpu", "1", "memory", "1Gi")},
		{"fits with extended resource", requests("cpu", "1", gpu, "1")},
		{"rejected", requests("cpu", "6")},
	} {
		b.Run(bb.name, func(b *testing.B) {
			pl, state := newPlugin(b, nil, nil), framework.NewCycleState()
			pl.PreFilter(ctx, state, bb.pod, nil)
			b.ReportAllocs()
			for b.Loop() {
				pl.Filter(ctx, state, bb.pod, nodeInfo)
			}
		})
	}
}
