// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package plugins_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/client-go/informers"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugins"
	"github.com/rouse-scheduler/rouse/profiles"
	"github.com/rouse-scheduler/rouse/runtime"
)

// wantRegistrations is what every built plugin registers: plugin, resource, actions, and whether it has a hint. Plugins
// without a line register nothing.
const wantRegistrations = `
DefaultPreemption     AssignedPod                        Delete                                      hint
DefaultPreemption     Node                               Delete|UpdateNodeAllocatable|UpdateNodeLabel|UpdateNodeTaint|UpdateNodeDeclaredFeature hint
DefaultPreemption     TargetPod                          Update                                      hint
DynamicResources      Node                               Add|UpdateNodeAllocatable|UpdateNodeLabel   NOHINT
DynamicResources      TargetPod                          UpdatePodGeneratedResourceClaim             hint
DynamicResources      resource.k8s.io/DeviceClass        Add|Update                                  NOHINT
DynamicResources      resource.k8s.io/ResourceClaim      Add|Update|Delete                           narrowed
DynamicResources      resource.k8s.io/ResourceSlice      Add|Update                                  NOHINT
DynamicResources      resource.k8s.io/ResourceSlice      Delete                                      NOHINT
InterPodAffinity      AssignedPod                        Add|Delete|UpdatePodLabel                   hint
InterPodAffinity      Namespace                          Add|Update                                  hint
InterPodAffinity      Node                               Add|UpdateNodeLabel                         hint
InterPodAffinity      Node                               Delete                                      hint
InterPodAffinity      TargetPod                          UpdatePodLabel                              hint
NodeAffinity          Node                               Add|UpdateNodeLabel                         hint
NodeDeclaredFeatures  Node                               Add|UpdateNodeDeclaredFeature               hint
NodeDeclaredFeatures  TargetPod                          Update                                      hint
NodeName              Node                               Add                                         NOHINT
NodePorts             AssignedPod                        Delete                                      hint
NodePorts             Node                               Add                                         NOHINT
NodeResourcesFit      AssignedPod                        Delete                                      hint
NodeResourcesFit      AssignedPod                        UpdatePodScaleDown                          hint
NodeResourcesFit      Node                               Add|UpdateNodeAllocatable                   hint
NodeResourcesFit      TargetPod                          UpdatePodScaleDown                          hint
NodeResourcesFit      resource.k8s.io/DeviceClass        Add|Update                                  hint
NodeUnschedulable     Node                               Add|UpdateNodeTaint                         hint
NodeUnschedulable     TargetPod                          UpdatePodToleration                         hint
NodeVolumeLimits      AssignedPod                        Delete                                      hint
NodeVolumeLimits      Node                               Add                                         NOHINT
NodeVolumeLimits      PersistentVolumeClaim              Add                                         hint
NodeVolumeLimits      PersistentVolumeClaim              Update                                      hint
NodeVolumeLimits      storage.k8s.io/CSIDriver           Update|Delete                               hint
NodeVolumeLimits      storage.k8s.io/CSINode             Add                                         NOHINT
NodeVolumeLimits      storage.k8s.io/CSINode             Delete                                      NOHINT
NodeVolumeLimits      storage.k8s.io/CSINode             Update                                      hint
NodeVolumeLimits      storage.k8s.io/VolumeAttachment    Delete                                      hint
PodTopologySpread     AssignedPod                        Add|Delete|UpdatePodLabel                   hint
PodTopologySpread     AssignedPod                        Update                                      hint
PodTopologySpread     Node                               Add|Delete|UpdateNodeLabel|UpdateNodeTaint  hint
PodTopologySpread     TargetPod                          UpdatePodLabel|UpdatePodToleration          hint
SchedulingGates       TargetPod                          UpdatePodSchedulingGatesEliminated          hint
TaintToleration       Node                               Add|UpdateNodeTaint                         hint
TaintToleration       TargetPod                          UpdatePodToleration                         hint
VolumeBinding         Node                               Add|UpdateNodeLabel                         NOHINT
VolumeBinding         PersistentVolume                   Add|Update                                  NOHINT
VolumeBinding         PersistentVolumeClaim              Add|Update                                  hint
VolumeBinding         storage.k8s.io/CSIDriver           Delete                                      hint
VolumeBinding         storage.k8s.io/CSIDriver           Update                                      hint
VolumeBinding         storage.k8s.io/CSINode             Add|Update                                  hint
VolumeBinding         storage.k8s.io/CSIStorageCapacity  Add|Update                                  hint
VolumeBinding         storage.k8s.io/StorageClass        Add|Update                                  hint
VolumeRestrictions    AssignedPod                        Delete                                      hint
VolumeRestrictions    Node                               Add                                         NOHINT
VolumeRestrictions    Node                               Delete                                      hint
VolumeRestrictions    PersistentVolumeClaim              Add                                         hint
VolumeZone            Node                               Add|UpdateNodeLabel                         NOHINT
VolumeZone            PersistentVolume                   Add|Update                                  hint
VolumeZone            PersistentVolumeClaim              Add|Update                                  hint
VolumeZone            storage.k8s.io/StorageClass        Add                                         hint
`

func TestRegisteredEvents(t *testing.T) {
	framework := defaultFramework(t)
	var got []string
	for plugin, events := range framework.Registrations() {
		for _, event := range events {
			hint := "hint"
			if event.QueueingHintFn == nil {
				hint = "NOHINT"
			}
			if event.PreQueueingHintFn != nil {
				hint = "narrowed"
			}
			got = append(got, strings.Join([]string{plugin, string(event.Event.Resource), actions(event.Event.ActionType), hint}, " "))
		}
	}
	slices.Sort(got)
	var want []string
	for line := range strings.Lines(strings.TrimSpace(wantRegistrations)) {
		want = append(want, strings.Join(strings.Fields(line), " "))
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("registrations differ (-want +got):\n%s", diff)
	}
}

// actions names the actions of a mask.
func actions(mask fwk.ActionType) string {
	var names []string
	add := func(action fwk.ActionType) {
		if mask&action == action {
			names = append(names, action.String())
			mask &^= action
		}
	}
	add(fwk.Update)
	for bit := fwk.Add; bit < fwk.All; bit <<= 1 {
		add(bit)
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(order(a), order(b)) })
	return strings.Join(names, "|")
}

// order puts Add before updates, as the table is written.
func order(action string) int {
	if action == "Add" {
		return 0
	}
	return 1
}

// wantPoints is the default profile, point by point. Weights follow the names of score plugins.
func wantPoints() map[profiles.ExtensionPoint]string {
	const filters = "NodeName NodeUnschedulable TaintToleration NodeAffinity NodePorts NodeResourcesFit VolumeRestrictions " +
		"NodeVolumeLimits VolumeBinding VolumeZone PodTopologySpread InterPodAffinity DynamicResources NodeDeclaredFeatures"
	return map[profiles.ExtensionPoint]string{
		profiles.PreEnqueue:         "SchedulingGates DynamicResources DefaultPreemption",
		profiles.QueueSort:          "PrioritySort",
		profiles.PreFilter:          filters,
		profiles.Filter:             filters,
		profiles.PostFilter:         "DynamicResources DefaultPreemption",
		profiles.PodGroupPostFilter: "DynamicResources DefaultPreemption",
		profiles.PreScore:           "TaintToleration NodeAffinity NodeResourcesFit VolumeBinding PodTopologySpread InterPodAffinity NodeResourcesBalancedAllocation",
		profiles.Score: "TaintToleration=3 NodeAffinity=2 NodeResourcesFit=1 VolumeBinding=1 PodTopologySpread=2 InterPodAffinity=2 " +
			"DynamicResources=2 NodeResourcesBalancedAllocation=1 ImageLocality=1",
		profiles.Reserve:        "VolumeBinding DynamicResources",
		profiles.PreBind:        "VolumeBinding DynamicResources",
		profiles.Bind:           "DefaultBinder",
		profiles.PlacementScore: "NodeResourcesFit=1",
	}
}

func TestDefaultProfileResolves(t *testing.T) {
	got := map[profiles.ExtensionPoint]string{}
	for point, resolved := range defaultFramework(t).Resolved().Points {
		var names []string
		for _, plugin := range resolved {
			if point.IsScore() {
				names = append(names, fmt.Sprintf("%s=%d", plugin.Name, plugin.Weight))
			} else {
				names = append(names, plugin.Name)
			}
		}
		if len(names) > 0 {
			got[point] = strings.Join(names, " ")
		}
	}
	if diff := gocmp.Diff(wantPoints(), got); diff != "" {
		t.Errorf("extension points differ (-want +got):\n%s", diff)
	}
}

func defaultFramework(t *testing.T) *runtime.Framework {
	t.Helper()
	profile := profiles.DefaultProfile("default-scheduler")
	framework, err := runtime.NewFramework(t.Context(), plugins.NewInTreeRegistry(), profile, runtime.Options{
		Clients: runtime.Clients{InformerFactory: informers.NewSharedInformerFactory(nil, 0)},
	})
	if err != nil {
		t.Fatal(err)
	}
	return framework
}
