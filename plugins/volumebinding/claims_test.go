// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package volumebinding

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

func TestPreFilter(t *testing.T) {
	skip := fwk.NewStatus(fwk.Skip)
	unbound := never("pod has unbound immediate PersistentVolumeClaims")
	ephemeral := objects.Pod("p").EphemeralVolume("e").Build()
	lost := objects.PersistentVolumeClaim("c").Bound("gone").With(func(claim *v1.PersistentVolumeClaim) { claim.Status.Phase = v1.ClaimLost }).Build()
	terminating := objects.PersistentVolumeClaim("c").Bound("v").With(func(claim *v1.PersistentVolumeClaim) {
		claim.DeletionTimestamp = &metav1.Time{}
	}).Build()
	// A claim that names its volume waits for the PV controller, whatever its class says.
	preBound := func(class string) *v1.PersistentVolumeClaim {
		return pending("c", class, "1Gi", func(claim *v1.PersistentVolumeClaim) { claim.Spec.VolumeName = "v" })
	}
	tests := []struct {
		name    string
		pod     *v1.Pod
		objects []apiruntime.Object
		want    *fwk.Status
	}{
		{"no PVC", objects.Pod("p").Build(), nil, skip},
		{"no PVC, other volumes", objects.Pod("p").Volume("tmp", v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}).Build(), nil, skip},
		{"all bound", claiming("a", "b"), []apiruntime.Object{
			objects.PersistentVolumeClaim("a").Bound("v").Build(), objects.PersistentVolumeClaim("b").Bound("w").Build(),
		}, nil},
		{"missing", claiming("c"), nil, never(`persistentvolumeclaim "c" not found`)},
		{"missing, second of two", claiming("a", "c"), []apiruntime.Object{objects.PersistentVolumeClaim("a").Bound("v").Build()},
			never(`persistentvolumeclaim "c" not found`)},
		{"only in another namespace", objects.Pod("p").PersistentVolumeClaim("c").With(func(pod *v1.Pod) { pod.Namespace = "elsewhere" }).Build(),
			[]apiruntime.Object{objects.PersistentVolumeClaim("c").Bound("v").Build()}, never(`persistentvolumeclaim "c" not found`)},
		{"lost", claiming("c"), []apiruntime.Object{lost}, never(`persistentvolumeclaim "c" bound to non-existent persistentvolume "gone"`)},
		{"being deleted", claiming("c"), []apiruntime.Object{terminating}, never(`persistentvolumeclaim "c" is being deleted`)},
		{"ephemeral, missing", ephemeral, nil,
			never(`waiting for ephemeral volume controller to create the persistentvolumeclaim "p-e"`)},
		{"ephemeral, owned by another", ephemeral, []apiruntime.Object{objects.PersistentVolumeClaim("p-e").Bound("v").Build()},
			never("PVC default/p-e was not created for pod default/p (pod is not owner)")},
		{"ephemeral, owned", ephemeral, []apiruntime.Object{objects.PersistentVolumeClaim("p-e").Owner(ephemeral).Bound("v").Build()}, nil},
		{"immediate, unbound", claiming("c"), []apiruntime.Object{pending("c", immediate, "1Gi")}, unbound},
		{"no class, unbound", claiming("c"), []apiruntime.Object{objects.PersistentVolumeClaim("c").Build()}, unbound},
		{"missing class, unbound", claiming("c"), []apiruntime.Object{pending("c", "gone", "1Gi")}, unbound},
		{"immediate, unbound next to a bound one", claiming("a", "c"), []apiruntime.Object{
			objects.PersistentVolumeClaim("a").Bound("v").Build(), pending("c", immediate, "1Gi"),
		}, unbound},
		{"immediate, bound halfway", claiming("c"), []apiruntime.Object{preBound(immediate)}, unbound},
		{"delayed, bound halfway", claiming("c"), []apiruntime.Object{preBound(waiting)}, unbound},
		{"delayed, unbound", claiming("c"), []apiruntime.Object{pending("c", waiting, "1Gi")}, nil},
		{"delayed and immediate, unbound", claiming("a", "c"), []apiruntime.Object{
			pending("a", waiting, "1Gi"), pending("c", immediate, "1Gi"),
		}, unbound},
		{"class without a mode", claiming("c"), []apiruntime.Object{pending("c", "no-mode", "1Gi")},
			fwk.NewStatus(fwk.Error, `VolumeBindingMode not set for StorageClass "no-mode"`)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pl := newPlugin(t, tt.objects...)
			result, status := pl.PreFilter(t.Context(), framework.NewCycleState(), tt.pod, nil)
			fixture.CheckStatus(t, status, tt.want)
			if result != nil || pl.PreFilterExtensions() != nil {
				t.Errorf("got result %v and extensions %v, want neither", result, pl.PreFilterExtensions())
			}
		})
	}
}

// TestSkippedPod follows a pod without claims through all extension points.
func TestSkippedPod(t *testing.T) {
	pl, pod, state := newPlugin(t), objects.Pod("p").Build(), framework.NewCycleState()
	node := fixture.NodeInfo(objects.Node("n").Build())
	_, status := pl.PreFilter(t.Context(), state, pod, nil)
	fixture.CheckStatus(t, status, fwk.NewStatus(fwk.Skip))
	fixture.CheckStatus(t, pl.Filter(t.Context(), state, pod, node), nil)
	fixture.CheckStatus(t, pl.PreScore(t.Context(), state, pod, nil), nil)
	score, status := pl.Score(t.Context(), state, pod, node)
	fixture.CheckStatus(t, status, nil)
	if score != 0 {
		t.Errorf("got score %d, want 0", score)
	}
	fixture.CheckStatus(t, pl.Reserve(t.Context(), state, pod, "n"), nil)
	result, status := pl.PreBindPreFlight(t.Context(), state, pod, "n")
	fixture.CheckStatus(t, status, fwk.NewStatus(fwk.Skip))
	if !result.AllowParallel {
		t.Error("PreBind does not allow others next to it")
	}
	fixture.CheckStatus(t, pl.PreBind(t.Context(), state, pod, "n"), nil)
	pl.Unreserve(t.Context(), state, pod, "n")
}

func TestWithoutPreFilter(t *testing.T) {
	pl, pod, state := newPlugin(t), claiming("c"), framework.NewCycleState()
	node := fixture.NodeInfo(objects.Node("n").Build())
	_, scored := pl.Score(t.Context(), state, pod, node)
	_, preFlight := pl.PreBindPreFlight(t.Context(), state, pod, "n")
	for name, status := range map[string]*fwk.Status{
		"Filter":           pl.Filter(t.Context(), state, pod, node),
		"PreScore":         pl.PreScore(t.Context(), state, pod, nil),
		"Score":            scored,
		"Reserve":          pl.Reserve(t.Context(), state, pod, "n"),
		"PreBindPreFlight": preFlight,
		"PreBind":          pl.PreBind(t.Context(), state, pod, "n"),
	} {
		if !status.IsError() {
			t.Errorf("%s: got %v, want Error", name, status.Code())
		}
	}
	pl.Unreserve(t.Context(), state, pod, "n")
}
