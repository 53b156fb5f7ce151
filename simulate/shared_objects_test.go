// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/runtime"
	"github.com/rouse-scheduler/rouse/simulate"
)

// A plugin that changes what it shares with others is named, and the others see no change.
func TestPluginsThatChangeSharedObjects(t *testing.T) {
	changes := map[string]struct {
		at runtime.Method
		do func(call) *fwk.Status
	}{
		"SetNode on a node info": {runtime.MethodFilter, func(with call) *fwk.Status {
			with.node.SetNode(newNode("elsewhere", "1"))
			return nil
		}},
		"AddPodInfo on a node info": {runtime.MethodScore, func(with call) *fwk.Status {
			huge, _ := framework.NewPodInfo(newPod("huge", "100"))
			with.node.AddPodInfo(huge)
			return nil
		}},
		"RemovePod on a node info": {runtime.MethodFilter, func(with call) *fwk.Status {
			return fwk.AsStatus(with.node.RemovePod(klog.Background(), newPod("none", "1")))
		}},
		"the UID of its pod": {runtime.MethodPreFilter, func(with call) *fwk.Status {
			with.pod.UID = "another"
			return fwk.NewStatus(fwk.Unschedulable, "no")
		}},
		"the node of its pod": {runtime.MethodFilter, func(with call) *fwk.Status {
			with.pod.Spec.NodeName = "n1"
			return fwk.NewStatus(fwk.Unschedulable, "no")
		}},
		"the labels of its pod": {runtime.MethodPreEnqueue, func(with call) *fwk.Status {
			with.pod.Labels = map[string]string{"changed": "by a plugin"}
			return nil
		}},
		"a container of its pod": {runtime.MethodReserve, func(with call) *fwk.Status {
			with.pod.Spec.Containers[0].Image = "changed"
			return nil
		}},
		"the labels of a node": {runtime.MethodFilter, func(with call) *fwk.Status {
			with.node.Node().Labels = map[string]string{"changed": "by a plugin"}
			return nil
		}},
		"the capacity of a node": {runtime.MethodScore, func(with call) *fwk.Status {
			with.node.Node().Status.Allocatable[v1.ResourceCPU] = newNode("n", "100").Status.Allocatable[v1.ResourceCPU]
			return nil
		}},
	}
	for what, change := range changes {
		t.Run(what, func(t *testing.T) {
			cluster, err := misplay(t, &rude{at: change.at, do: change.do}, func(options *simulate.Options) { options.Trace = true })
			if err != nil {
				t.Fatal(err)
			}
			wantBound(t, cluster, "good")
			if bad, _ := cluster.Pod("shop", "bad"); bad.Pool == simulate.PoolActive {
				t.Errorf("the pod is %+v, want it tried, and not active forever", bad)
			}
			named := slices.ContainsFunc(cluster.Trace(), func(entry simulate.TraceEntry) bool {
				return entry.What == simulate.WhatFailed && entry.Plugin == "Rude" && entry.Pod == "shop/bad" &&
					strings.Contains(entry.Message, string(change.at)) && strings.Contains(entry.Message, "change a")
			})
			if !named {
				t.Errorf("no entry names the plugin:\n%v", cluster.Trace())
			}
			want := newNode("n1", "4")
			if got := cluster.Node("n1"); !cmp.Equal(got.Labels, want.Labels) || !got.Status.Allocatable.Cpu().Equal(*want.Status.Capacity.Cpu()) {
				t.Errorf("node %+v, want it as it was", got)
			}
			snapshot, err := cluster.Snapshot()
			if err != nil {
				t.Fatal(err)
			}
			if info, err := snapshot.Get("n1"); err != nil || info.Node().Name != "n1" || info.GetRequested().GetMilliCPU() > 4000 {
				t.Errorf("node info %v, %v, want that of n1", info, err)
			}
		})
	}
}

// A plugin that changes the nodes it is asked about is found out with the first pod, however many nodes there are; one that
// changes another node is found out when it is the turn of that node.
func TestPluginsThatChangeOneOfManyNodes(t *testing.T) {
	const nodes = 300
	var cluster *simulate.Cluster
	setLabel := func(node *v1.Node, with call) *fwk.Status {
		node.Labels = map[string]string{"changed": "for " + with.pod.Namespace}
		return nil
	}
	given := func(with call) *fwk.Status { return setLabel(with.node.Node(), with) }
	another := func(with call) *fwk.Status {
		node, err := cluster.Scheduler().Profiles()["default-scheduler"].SnapshotSharedLister().NodeInfos().Get("n7")
		if err != nil {
			return fwk.AsStatus(err)
		}
		return setLabel(node.Node(), with)
	}
	for what, test := range map[string]struct {
		plugin *rude
		pods   int
	}{
		"the nodes of Filter": {&rude{runtime.MethodFilter, given}, 1},
		"the nodes of Score":  {&rude{runtime.MethodScore, given}, 1},
		"another node":        {&rude{runtime.MethodScore, another}, nodes},
	} {
		t.Run(what, func(t *testing.T) {
			options := rudeOptions(t, test.plugin)
			options.Trace = true
			cluster = newCluster(t, options)
			for i := range nodes {
				must(t, cluster.Create(newNode(fmt.Sprintf("n%d", i), "4")))
			}
			for i := range test.pods {
				pod := newPod("bad", "1")
				pod.Namespace = fmt.Sprintf("shop%d", i)
				must(t, cluster.Create(pod))
			}
			must(t, cluster.Advance(time.Minute))
			named := slices.ContainsFunc(cluster.Trace(), func(entry simulate.TraceEntry) bool {
				return entry.What == simulate.WhatFailed && entry.Plugin == "Rude" && strings.Contains(entry.Message, "changed node n")
			})
			if !named {
				t.Error("no entry names the plugin")
			}
		})
	}
}
