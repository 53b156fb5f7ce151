// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package plugintest_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugintest"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// TestWakesAgreesWithScheduler makes transitions in a cluster, and compares the hints that its scheduler asks with those
// that Wakes does.
func TestWakesAgreesWithScheduler(t *testing.T) {
	node, web := objects.Node("n1").Capacity("cpu", "2"), limited("web")
	other, waiting := objects.Pod("other").Node("n1"), objects.Pod("other")
	class := func(provisioner string) apiruntime.Object {
		return &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "fast"}, Provisioner: provisioner}
	}
	devices := &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}}
	driver := &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "driver"}}
	tests := []struct {
		before, after apiruntime.Object
		want          []string // the events whose hints are asked
	}{
		{nil, node.Build(), []string{"NodeAdd"}},
		{node.Build(), nil, []string{"NodeDelete"}},
		{node.Build(), node.Label("a", "b").Capacity("cpu", "4").Build(), []string{"NodeUpdateNodeAllocatable", "NodeUpdateNodeLabel"}},
		{node.Build(), node.Unschedulable().Build(), nil},
		{nil, other.Build(), []string{"AssignedPodAdd"}},
		{other.Build(), nil, []string{"AssignedPodDelete"}},
		{other.Build(), other.Label("a", "b").Build(), []string{"AssignedPodUpdate", "AssignedPodUpdatePodLabel"}},
		{other.Build(), other.Annotation("a", "b").Build(), []string{"AssignedPodUpdate"}},
		{nil, waiting.SchedulingGate("wait").Build(), nil},
		{web.Build(), web.Label("a", "b").Build(), []string{"TargetPodUpdate", "TargetPodUpdatePodLabel"}},
		{nil, class("slow"), []string{"storage.k8s.io/StorageClassAdd"}},
		{class("slow"), class("fast"), []string{"storage.k8s.io/StorageClassUpdate"}},
		{class("slow"), nil, []string{"storage.k8s.io/StorageClassDelete"}},
		{nil, devices, []string{"resource.k8s.io/DeviceClassAdd"}},
		{driver, nil, []string{"storage.k8s.io/CSIDriverDelete"}},
	}
	for _, test := range tests {
		transition := plugintest.Updated(test.before, test.after)
		switch {
		case test.before == nil:
			transition = plugintest.Added(test.after)
		case test.after == nil:
			transition = plugintest.Deleted(test.before)
		}
		t.Run(transition.String(), func(t *testing.T) {
			asked := sets.New[string]()
			factory := changedLimit(func(limit *Limit) {
				limit.events = recordingEvents(asked)
				limit.prefilter = func(*v1.Pod) (*fwk.PreFilterResult, *fwk.Status) {
					return nil, fwk.NewStatus(fwk.Unschedulable, "never")
				}
			})
			cluster := plugintest.NewCluster(t, limitName, factory, plugintest.Options{Nodes: []*v1.Node{objects.Node("n0").Build()}})
			if test.before != nil {
				cluster.Create(test.before)
			}
			if pod, isPod := test.before.(*v1.Pod); !isPod || pod.Name != web.Build().Name {
				cluster.Create(web.Build())
			}
			cluster.Settle()
			asked.Clear()
			switch {
			case test.before == nil:
				cluster.Create(test.after)
			case test.after == nil:
				cluster.Delete(test.before)
			default:
				cluster.Update(test.after)
			}
			if diff := cmp.Diff(sets.New(test.want...), asked.Clone()); diff != "" {
				t.Errorf("hints that the scheduler asks (-want +got):\n%s", diff)
			}
			asked.Clear()
			plugintest.NewFramework(t, limitName, factory, plugintest.Options{}).Wakes(web.Build(), transition)
			if diff := cmp.Diff(sets.New(test.want...), asked); diff != "" {
				t.Errorf("hints that Wakes asks (-want +got):\n%s", diff)
			}
		})
	}
}

// recordingEvents returns a registration for every event there is, with a hint that notes its label in the set.
func recordingEvents(asked sets.Set[string]) []fwk.ClusterEventWithHint {
	var events []fwk.ClusterEventWithHint
	note := func(resource fwk.EventResource, action fwk.ActionType) {
		label := fwk.ClusterEvent{Resource: resource, ActionType: action}.Label()
		events = append(events, on(resource, action, func(klog.Logger, *v1.Pod, any, any) (fwk.QueueingHint, error) {
			asked.Insert(label)
			return fwk.QueueSkip, nil
		}))
	}
	for _, row := range framework.Resources() {
		if row.Optional {
			continue
		}
		for _, action := range row.Actions {
			note(row.Name, action.Bit)
		}
	}
	note(fwk.AssignedPod, fwk.Update)
	note(fwk.TargetPod, fwk.Update)
	return events
}
