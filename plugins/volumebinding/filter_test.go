// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package volumebinding

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// inZoneA makes a volume reachable from nodes in zone a.
func inZoneA(volume *v1.PersistentVolume) { reachableFrom(zone, "a")(volume) }

// TestFilter filters a node in zone a.
func TestFilter(t *testing.T) {
	mode := func(modes ...v1.PersistentVolumeAccessMode) func(*v1.PersistentVolume) {
		return func(volume *v1.PersistentVolume) { volume.Spec.AccessModes = modes }
	}
	phase := func(phase v1.PersistentVolumePhase) func(*v1.PersistentVolume) {
		return func(volume *v1.PersistentVolume) { volume.Status.Phase = phase }
	}
	withAnnotation := func(class string) func(*v1.PersistentVolume) {
		return func(volume *v1.PersistentVolume) {
			volume.Annotations = map[string]string{v1.BetaStorageClassAnnotation: class}
		}
	}
	noProvisioner := storageClass("no-provisioner", storagev1.VolumeBindingWaitForFirstConsumer,
		func(class *storagev1.StorageClass) { class.Provisioner = "" })
	boundTo := func(name string) *v1.PersistentVolumeClaim {
		return objects.PersistentVolumeClaim("bound").Bound(name).Build()
	}
	tests := []struct {
		name    string
		pod     *v1.Pod
		objects []apiruntime.Object
		want    *fwk.Status
	}{
		{"bound: reachable", claiming("bound"), []apiruntime.Object{boundTo("v"), volume("v", "", "1Gi", inZoneA)}, nil},
		{"bound: no node affinity", claiming("bound"), []apiruntime.Object{boundTo("v"), volume("v", "", "1Gi")}, nil},
		{"bound: no matches", claiming("bound"), []apiruntime.Object{boundTo("v"), volume("v", "", "1Gi", reachableFrom(zone, "b"))},
			never(nodeConflict)},
		{"bound: PV not found", claiming("bound"), []apiruntime.Object{boundTo("gone")}, never(volumeGone)},

		{"matches", claiming("c"), []apiruntime.Object{pending("c", static, "1Gi"), volume("v", static, "1Gi", inZoneA)}, nil},
		{"matches by annotation", claiming("c"), []apiruntime.Object{pending("c", static, "1Gi"), volume("v", "", "1Gi", withAnnotation(static))}, nil},
		{"no matches: none", claiming("c"), []apiruntime.Object{pending("c", static, "1Gi")}, never(noVolume)},
		{"no matches: other zone", claiming("c"), []apiruntime.Object{pending("c", static, "1Gi"), volume("v", static, "1Gi", reachableFrom(zone, "b"))},
			never(noVolume)},
		{"no matches: other class", claiming("c"), []apiruntime.Object{pending("c", static, "1Gi"), volume("v", waiting, "1Gi")}, never(noVolume)},
		{"no matches: too small", claiming("c"), []apiruntime.Object{pending("c", static, "2Gi"), volume("v", static, "1Gi")}, never(noVolume)},
		{"no matches: not available", claiming("c"), []apiruntime.Object{pending("c", static, "1Gi"), volume("v", static, "1Gi", phase(v1.VolumeReleased))},
			never(noVolume)},
		{"no matches: access mode", claiming("c"), []apiruntime.Object{
			pending("c", static, "1Gi", modes(v1.ReadWriteMany)), volume("v", static, "1Gi", mode(v1.ReadWriteOnce)),
		}, never(noVolume)},
		{"no matches: claimed by another", claiming("c"), []apiruntime.Object{
			pending("c", static, "1Gi"), volume("v", static, "1Gi", claimedBy("other")),
		}, never(noVolume)},
		{"pre-bound", claiming("c"), []apiruntime.Object{
			pending("c", static, "1Gi"), volume("v", static, "5Gi", claimedBy("c"), inZoneA, phase(v1.VolumePending)),
		}, nil},
		{"pre-bound to a volume elsewhere, another would match", claiming("c"), []apiruntime.Object{
			pending("c", static, "1Gi"), volume("v", static, "5Gi", claimedBy("c"), reachableFrom(zone, "b")), volume("a", static, "5Gi"),
		}, never(noVolume)},

		{"two PVCs by size: the small one leaves the large volume", claiming("large", "small"), []apiruntime.Object{
			pending("small", static, "1Gi"), pending("large", static, "5Gi"),
			volume("v1", static, "5Gi"), volume("v2", static, "1Gi"),
		}, nil},
		{"two PVCs by size: the small one takes the large volume if it must", claiming("small"), []apiruntime.Object{
			pending("small", static, "1Gi"), volume("v1", static, "5Gi"),
		}, nil},
		{"two PVCs, one volume", claiming("small", "large"), []apiruntime.Object{
			pending("small", static, "1Gi"), pending("large", static, "5Gi"), volume("v1", static, "5Gi"),
		}, never(noVolume)},
		{"partial match", claiming("a", "b"), []apiruntime.Object{
			pending("a", static, "1Gi"), pending("b", static, "1Gi"), volume("v1", static, "1Gi"),
		}, never(noVolume)},
		{"partial match, the rest is made", claiming("a", "b"), []apiruntime.Object{
			pending("a", waiting, "1Gi"), pending("b", waiting, "1Gi"), volume("v1", waiting, "1Gi"),
		}, nil},
		{"one claim in two volumes counts once", claiming("a", "a"), []apiruntime.Object{
			pending("a", static, "1Gi"), volume("v1", static, "1Gi"),
		}, nil},

		{"made by the provisioner", claiming("c"), []apiruntime.Object{pending("c", waiting, "1Gi")}, nil},
		{"invalid provisioner", claiming("c"), []apiruntime.Object{pending("c", "no-provisioner", "1Gi"), noProvisioner}, never(noVolume)},
		{"selected node: this", claiming("c"), []apiruntime.Object{pending("c", waiting, "1Gi", selected("n"))}, nil},
		{"selected node: another", claiming("c"), []apiruntime.Object{pending("c", waiting, "1Gi", selected("m"))}, never(noVolume)},
		{"selected node: this, existing volumes are not taken", claiming("c"), []apiruntime.Object{
			pending("c", static, "1Gi", selected("n")), volume("v", static, "1Gi"),
		}, never(noVolume)},
		{"selected node: another, of one of two claims", claiming("a", "c"), []apiruntime.Object{
			pending("a", waiting, "1Gi"), pending("c", waiting, "1Gi", selected("m")),
		}, never(noVolume)},

		{"bound matches, unbound does not", claiming("bound", "c"), []apiruntime.Object{
			boundTo("v"), volume("v", "", "1Gi"), pending("c", static, "1Gi"),
		}, never(noVolume)},
		{"neither bound nor unbound match", claiming("bound", "c"), []apiruntime.Object{
			boundTo("v"), volume("v", "", "1Gi", reachableFrom(zone, "b")), pending("c", static, "1Gi"),
		}, never(nodeConflict, noVolume)},
		{"bound volume gone, unbound does not match", claiming("bound", "c"), []apiruntime.Object{
			boundTo("gone"), pending("c", static, "1Gi"),
		}, never(noVolume, volumeGone)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, statuses := filter(t, newPlugin(t, tt.objects...), tt.pod, nodeIn("n", "a"))
			fixture.CheckStatus(t, statuses["n"], tt.want)
		})
	}
}

func TestInvalidSelector(t *testing.T) {
	claim := pending("c", static, "1Gi", func(claim *v1.PersistentVolumeClaim) {
		claim.Spec.Selector = badSelector()
	})
	_, statuses := filter(t, newPlugin(t, claim, volume("v", static, "1Gi")), claiming("c"), nodeIn("n", "a"))
	if !statuses["n"].IsError() {
		t.Errorf("got %v, want Error", statuses["n"].Code())
	}
}

// TestClassDisappears has a class that is deleted between PreFilter and Filter.
func TestClassDisappears(t *testing.T) {
	class := objects.StorageClass("short-lived", "provisioner", storagev1.VolumeBindingWaitForFirstConsumer)
	informers := fixture.Informers(t, class, pending("c", "short-lived", "1Gi"))
	pl := buildPlugin(t, nil, &fixture.Handle{Informers: informers})
	state, _ := filter(t, pl, claiming("c"))
	if err := informers.Storage().V1().StorageClasses().Informer().GetIndexer().Delete(class); err != nil {
		t.Fatal(err)
	}
	status := pl.Filter(t.Context(), state, claiming("c"), fixture.NodeInfo(nodeIn("n", "a")))
	fixture.CheckStatus(t, status, fwk.NewStatus(fwk.Error, `failed to find storage class "short-lived"`))
}

func TestAllowedTopologies(t *testing.T) {
	in := func(key string, values ...string) v1.TopologySelectorLabelRequirement {
		return v1.TopologySelectorLabelRequirement{Key: key, Values: values}
	}
	term := func(expressions ...v1.TopologySelectorLabelRequirement) v1.TopologySelectorTerm {
		return v1.TopologySelectorTerm{MatchLabelExpressions: expressions}
	}
	tests := []struct {
		name  string
		terms []v1.TopologySelectorTerm
		want  *fwk.Status
	}{
		{"none", nil, nil},
		{"empty list", []v1.TopologySelectorTerm{}, nil},
		{"empty term", []v1.TopologySelectorTerm{term()}, never(noVolume)},
		{"match", []v1.TopologySelectorTerm{term(in(zone, "b", "a"))}, nil},
		{"topology unsatisfied: other value", []v1.TopologySelectorTerm{term(in(zone, "b"))}, never(noVolume)},
		{"topology unsatisfied: no such label", []v1.TopologySelectorTerm{term(in("rack", "a"))}, never(noVolume)},
		{"expressions are ANDed", []v1.TopologySelectorTerm{term(in(zone, "a"), in("rack", "1"))}, never(noVolume)},
		{"terms are ORed", []v1.TopologySelectorTerm{term(in("rack", "1")), term(in(zone, "a"))}, nil},
		{"term without values", []v1.TopologySelectorTerm{term(in(zone))}, never(noVolume)},
		{"term that can't be parsed next to one that matches", []v1.TopologySelectorTerm{term(in("!", "a")), term(in(zone, "a"))}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			class := storageClass("limited", storagev1.VolumeBindingWaitForFirstConsumer,
				func(class *storagev1.StorageClass) { class.AllowedTopologies = tt.terms })
			_, statuses := filter(t, newPlugin(t, class, pending("c", "limited", "1Gi")), claiming("c"), nodeIn("n", "a"))
			fixture.CheckStatus(t, statuses["n"], tt.want)
		})
	}
}
