// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package plugintest_test

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/rouse-scheduler/rouse/plugins"
	"github.com/rouse-scheduler/rouse/plugintest"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// TestCheckRequeueOfInTreePlugins checks plugins that are known to be sound, and shows that the check sees the changes
// that they wait for.
func TestCheckRequeueOfInTreePlugins(t *testing.T) {
	pod, node := objects.Pod("web"), objects.Node("n1")
	other := objects.Pod("other").Node("n1")
	build := func(pods ...objects.PodBuilder) []*v1.Pod {
		var built []*v1.Pod
		for _, pod := range pods {
			built = append(built, pod.Build())
		}
		return built
	}
	nodes := func(node objects.NodeBuilder) []*v1.Node { return []*v1.Node{node.Build()} }
	tests := []struct {
		plugin      string
		options     plugintest.Options
		transitions []plugintest.Transition
	}{
		{
			plugin: "NodeAffinity",
			options: plugintest.Options{Nodes: nodes(node), Pods: build(
				pod.NodeAffinity("disk=ssd"), pod.Name("selects").NodeSelector("disk", "ssd"), pod.Name("pinned").NodeAffinity("!none,cores>8"))},
			transitions: []plugintest.Transition{
				plugintest.Updated(node.Build(), node.Label("disk", "ssd").Build()),
				plugintest.Updated(node.Build(), node.Label("cores", "16").Build()),
				plugintest.Added(objects.Node("n2").Label("disk", "ssd").Build()),
			},
		},
		{
			plugin: "TaintToleration",
			options: plugintest.Options{Nodes: nodes(node.Taint("dedicated", "batch", v1.TaintEffectNoSchedule)),
				Pods: build(pod, pod.Name("other-batch").Tolerates("dedicated", "other", v1.TaintEffectNoSchedule))},
			transitions: []plugintest.Transition{
				plugintest.Updated(node.Taint("dedicated", "batch", v1.TaintEffectNoSchedule).Build(), node.Build()),
				plugintest.Updated(node.Taint("dedicated", "batch", v1.TaintEffectNoSchedule).Build(),
					node.Taint("dedicated", "other", v1.TaintEffectNoSchedule).Build()),
				plugintest.Updated(pod.Build(), pod.Tolerates("dedicated", "batch", v1.TaintEffectNoSchedule).Build()),
				plugintest.Added(objects.Node("n2").Build()),
			},
		},
		{
			plugin:  "NodeUnschedulable",
			options: plugintest.Options{Nodes: nodes(node.Unschedulable()), Pods: build(pod)},
			transitions: []plugintest.Transition{
				plugintest.Updated(node.Unschedulable().Build(), node.Build()),
				plugintest.Updated(pod.Build(), pod.Tolerates(v1.TaintNodeUnschedulable, "", v1.TaintEffectNoSchedule).Build()),
				plugintest.Added(objects.Node("n2").Build()),
			},
		},
		{
			plugin:  "NodePorts",
			options: plugintest.Options{Nodes: nodes(node), Pods: build(pod.HostPort(80), other.HostPort(80))},
			transitions: []plugintest.Transition{
				plugintest.Deleted(other.HostPort(80).Build()),
				plugintest.Added(objects.Node("n2").Build()),
			},
		},
		{
			plugin: "NodeResourcesFit",
			options: plugintest.Options{Nodes: nodes(node.Capacity("cpu", "2")), Pods: build(
				pod.Requests("cpu", "1"), pod.Name("huge").Requests("cpu", "3"), other.Requests("cpu", "2"))},
			transitions: []plugintest.Transition{
				plugintest.Deleted(other.Requests("cpu", "2").Build()),
				plugintest.Updated(other.Requests("cpu", "2").Build(), other.Requests("cpu", "500m").Build()),
				plugintest.Updated(node.Capacity("cpu", "2").Build(), node.Capacity("cpu", "8").Build()),
				plugintest.Added(objects.Node("n2").Capacity("cpu", "1").Build()),
				plugintest.Updated(pod.Requests("cpu", "1").Build(), pod.Requests("cpu", "0").Build()),
			},
		},
		{
			plugin:  "SchedulingGates", // rejects at PreEnqueue
			options: plugintest.Options{Nodes: nodes(node), Pods: build(pod.SchedulingGate("quota"))},
			transitions: []plugintest.Transition{
				plugintest.Updated(pod.SchedulingGate("quota").Build(), pod.Build()),
			},
		},
	}
	registry := plugins.NewInTreeRegistry()
	for _, test := range tests {
		t.Run(test.plugin, func(t *testing.T) {
			plugintest.CheckRequeue(t, test.plugin, registry[test.plugin], test.options, test.transitions...)
		})
	}
}
