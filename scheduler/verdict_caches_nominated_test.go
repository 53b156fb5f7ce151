// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// loner is a Filter plugin whose pods have one key, since on the nodes of the snapshot there is none that they mind: they don't
// want to be with a pod that is named after them.
type loner struct{ scripted }

var _ framework.ChangedNodesPlugin = &loner{}

func newLoner() *loner {
	return &loner{scripted{name: "Loner", filter: func(pod *v1.Pod, node fwk.NodeInfo) *fwk.Status {
		if slices.ContainsFunc(node.GetPods(), func(other fwk.PodInfo) bool { return other.GetPod().Labels["not-with"] == pod.Name }) {
			return fwk.NewStatus(fwk.Unschedulable, "not with that one")
		}
		return nil
	}}}
}

func (*loner) AppendFilterKey(key []byte, _ fwk.CycleState, _ *v1.Pod) ([]byte, bool) {
	return key, true
}

func (*loner) AppendChangedNodes(indexes []int, _ framework.IndexedSnapshot) []int { return indexes }

// A plugin that has keys for the nodes of the snapshot alone is asked about every pod next to nominated ones.
func TestVerdictsBesideNominatedPodsAreNotKept(t *testing.T) {
	c := newComparison(t, 1, 0, false, newLoner())
	for name := range c.nodes {
		c.removeNode(name)
	}
	node := objects.Node("n0").Capacity("cpu", "8").Build()
	c.check(c.cache.AddNode(node))
	c.nodes[node.Name] = node
	nominated := objects.Pod("nominated").Requests("cpu", "100m").Priority(10).Build()
	nominated.Labels = map[string]string{"not-with": "p3"}
	info, err := framework.NewPodInfo(nominated)
	c.check(err)
	c.nominator.AddNominatedPod(klog.Logger{}, info, nominate(node.Name).NominatingInfo)
	c.check(c.cache.UpdateSnapshot(c.snapshot))
	for _, name := range []string{"p0", "p1", "p2", "p3", "p4"} {
		pod, state := objects.Pod(name).Requests("cpu", "100m").Build(), framework.NewCycleState()
		if _, status, _ := c.profile.RunPreFilterPlugins(t.Context(), state, pod); !status.IsSuccess() {
			t.Fatal(status)
		}
		totals, _, status := c.profile.Totals(t.Context(), state, pod)
		if want := name != "p3"; !status.IsSuccess() || (len(totals) == 1) != want {
			t.Errorf("pod %s: status %v, fits %v, want fits: %v", name, status, totals, want)
		}
		if _, ok := c.profile.AppendFilterKey(nil, state, pod); ok {
			t.Error("there is a key for nodes with pods added or removed")
		}
	}
}
