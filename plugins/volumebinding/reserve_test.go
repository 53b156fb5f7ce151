// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package volumebinding

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

func newState() fwk.CycleState { return framework.NewCycleState() }

// reserve takes a pod through PreFilter, Filter of a node in zone a, and Reserve there.
func reserve(t *testing.T, pl *plugin, pod *v1.Pod) fwk.CycleState {
	t.Helper()
	state, statuses := filter(t, pl, pod, nodeIn("n", "a"))
	fixture.CheckStatus(t, statuses["n"], nil)
	fixture.CheckStatus(t, pl.Reserve(t.Context(), state, pod, "n"), nil)
	return state
}

// checkFits checks whether a pod with the given claims, scheduled after others, fits the node.
func checkFits(t *testing.T, pl *plugin, node string, want *fwk.Status, claims ...string) {
	t.Helper()
	_, statuses := filter(t, pl, objects.Pod("next").PersistentVolumeClaim(claims...).Build(), nodeIn(node, "a"))
	fixture.CheckStatus(t, statuses[node], want)
}

func checkPreFlight(t *testing.T, pl *plugin, state fwk.CycleState, pod *v1.Pod, node string, want *fwk.Status) {
	t.Helper()
	result, status := pl.PreBindPreFlight(t.Context(), state, pod, node)
	fixture.CheckStatus(t, status, want)
	if !status.IsError() && !result.AllowParallel {
		t.Error("PreBind does not allow others next to it")
	}
}

func TestPreBindPreFlight(t *testing.T) {
	skip := fwk.NewStatus(fwk.Skip)
	tests := []struct {
		name    string
		objects []apiruntime.Object
		node    string
		want    *fwk.Status
	}{
		{"all bound", []apiruntime.Object{objects.PersistentVolumeClaim("c").Bound("v").Build(), volume("v", "", "1Gi")}, "n", skip},
		{"static", []apiruntime.Object{pending("c", static, "1Gi"), volume("v", static, "1Gi")}, "n", nil},
		{"dynamic", []apiruntime.Object{pending("c", waiting, "1Gi")}, "n", nil},
		{"another node", []apiruntime.Object{pending("c", waiting, "1Gi")}, "m", fwk.NewStatus(fwk.Error, `no pod volume found for node "m"`)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pl, pod := newPlugin(t, tt.objects...), claiming("c")
			checkPreFlight(t, pl, reserve(t, pl, pod), pod, tt.node, tt.want)
		})
	}
}

func TestReserveVolume(t *testing.T) {
	pl, pod := newPlugin(t, pending("c", static, "1Gi"), pending("d", static, "1Gi"), volume("v", static, "1Gi")), claiming("c")
	state := reserve(t, pl, pod)
	checkFits(t, pl, "n", never(noVolume), "d")
	checkFits(t, pl, "n", nil, "c")
	for range 2 {
		pl.Unreserve(t.Context(), state, pod, "n")
		checkFits(t, pl, "n", nil, "d")
	}
}

func TestReserveProvision(t *testing.T) {
	pl, pod := newPlugin(t, pending("c", waiting, "1Gi")), claiming("c")
	state := reserve(t, pl, pod)
	checkFits(t, pl, "n", nil, "c")
	checkFits(t, pl, "m", never(noVolume), "c")
	for range 2 {
		pl.Unreserve(t.Context(), state, pod, "n")
		checkFits(t, pl, "m", nil, "c")
	}
}

// TestReserveSharedClaim has two pods with the same claim, of which the second gives up.
func TestReserveSharedClaim(t *testing.T) {
	pl := newPlugin(t, pending("c", static, "1Gi"), pending("d", static, "1Gi"), volume("v", static, "1Gi"))
	first, second := claiming("c"), objects.Pod("second").PersistentVolumeClaim("c").Build()
	reserve(t, pl, first)
	state := reserve(t, pl, second)
	pl.Unreserve(t.Context(), state, second, "n")
	checkFits(t, pl, "n", never(noVolume), "d")
}

func TestReserveWithoutPlan(t *testing.T) {
	pl, pod := newPlugin(t, pending("c", waiting, "1Gi")), claiming("c")
	state, _ := filter(t, pl, pod)
	fixture.CheckStatus(t, pl.Reserve(t.Context(), state, pod, "gone"), nil)
	checkPreFlight(t, pl, state, pod, "gone", fwk.NewStatus(fwk.Skip))
}

// TestReserveWhereFilterRejects must not have the pod bound without its volumes.
func TestReserveWhereFilterRejects(t *testing.T) {
	pl, pod := newPlugin(t, pending("c", static, "1Gi")), claiming("c")
	state, statuses := filter(t, pl, pod, nodeIn("n", "a"))
	fixture.CheckStatus(t, statuses["n"], never(noVolume))
	if status := pl.Reserve(t.Context(), state, pod, "n"); !status.IsError() {
		t.Errorf("Reserve: %v, want an error", status)
	}
}

// TestChangesBeforeReserve changes the cluster between Filter and Reserve. The pod has two claims that are bound to
// volumes v and w, and one for which a volume is made.
func TestChangesBeforeReserve(t *testing.T) {
	version := func(version string) func(*v1.PersistentVolume) {
		return func(volume *v1.PersistentVolume) { volume.ResourceVersion = version }
	}
	outOfSync := func(what string) *fwk.Status {
		return fwk.NewStatus(fwk.Error, what+" is out of sync (stored: 2, assume: 1)")
	}
	boundBy := func(name, volume string) *v1.PersistentVolumeClaim {
		return objects.PersistentVolumeClaim(name).StorageClass(static).Bound(volume).Build()
	}
	tests := []struct {
		name    string
		changed []apiruntime.Object
		want    *fwk.Status
	}{
		{"nothing", nil, nil},
		{"a volume was updated without a change", []apiruntime.Object{volume("w", static, "2Gi")}, nil},
		{"first volume changed", []apiruntime.Object{volume("v", static, "1Gi", version("2"))}, outOfSync(`persistentvolume "v"`)},
		{"second volume changed", []apiruntime.Object{volume("w", static, "2Gi", version("2"))}, outOfSync(`persistentvolume "w"`)},
		{"claim of the volume to be made changed", []apiruntime.Object{
			pending("made", waiting, "1Gi", func(claim *v1.PersistentVolumeClaim) { claim.ResourceVersion = "2" }),
		}, outOfSync(`persistentvolumeclaim "default/made"`)},
		{"one claim was bound", []apiruntime.Object{boundBy("c", "v")}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			informers := fixture.Informers(t, append(classes(),
				pending("c", static, "1Gi"), pending("d", static, "2Gi"), pending("made", waiting, "1Gi"),
				volume("v", static, "1Gi"), volume("w", static, "2Gi"),
				pending("other", static, "1Gi"), pending("other2", static, "2Gi"))...)
			pl, pod := buildPlugin(t, nil, &fixture.Handle{Informers: informers}), claiming("c", "d", "made")
			state, _ := filter(t, pl, pod, nodeIn("n", "a"))
			fixture.Store(t, informers, tt.changed...)
			fixture.CheckStatus(t, pl.Reserve(t.Context(), state, pod, "n"), tt.want)
			if tt.want.IsError() {
				// Nothing is assumed: another pod finds everything free.
				checkFits(t, pl, "n", nil, "other", "other2")
				checkFits(t, pl, "m", nil, "made")
			} else {
				checkFits(t, pl, "n", never(noVolume), "other", "other2")
				checkFits(t, pl, "m", never(noVolume), "made")
			}
		})
	}
}

func TestVolumeDisappearsBeforeReserve(t *testing.T) {
	disk := volume("v", static, "1Gi")
	informers := fixture.Informers(t, append(classes(), pending("c", static, "1Gi"), disk)...)
	pl, pod := buildPlugin(t, nil, &fixture.Handle{Informers: informers}), claiming("c")
	state, _ := filter(t, pl, pod, nodeIn("n", "a"))
	if err := informers.Core().V1().PersistentVolumes().Informer().GetIndexer().Delete(disk); err != nil {
		t.Fatal(err)
	}
	fixture.CheckStatus(t, pl.Reserve(t.Context(), state, pod, "n"), fwk.NewStatus(fwk.Error, `persistentvolume "v" not found`))
}

// TestBoundBeforeReserve has a claim that is bound between Filter and Reserve.
func TestBoundBeforeReserve(t *testing.T) {
	informers := fixture.Informers(t, append(classes(), pending("c", static, "1Gi"), volume("v", static, "1Gi"))...)
	pl, pod := buildPlugin(t, nil, &fixture.Handle{Informers: informers}), claiming("c")
	state, _ := filter(t, pl, pod, nodeIn("n", "a"))
	fixture.Store(t, informers, objects.PersistentVolumeClaim("c").StorageClass(static).Bound("v").Build())
	fixture.CheckStatus(t, pl.Reserve(t.Context(), state, pod, "n"), nil)
	checkPreFlight(t, pl, state, pod, "n", fwk.NewStatus(fwk.Skip))
}

// TestSecondProfile builds the plugin twice on the same informers.
func TestSecondProfile(t *testing.T) {
	handle := &fixture.Handle{Informers: fixture.Informers(t, append(classes(), pending("c", static, "1Gi"), volume("v", static, "1Gi"))...)}
	for range 2 {
		reserve(t, buildPlugin(t, nil, handle), claiming("c"))
	}
}
