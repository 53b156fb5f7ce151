// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package volumezone

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// TestPlaces has a pod with one claim, bound to a volume with the given labels.
func TestPlaces(t *testing.T) {
	skip := fwk.NewStatus(fwk.Skip)
	otherZone := fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "node(s) had no available volume zone")
	tests := []struct {
		name      string
		volume    []string
		node      []string
		preFilter *fwk.Status
		want      *fwk.Status
	}{
		{name: "volume without labels: skip", node: []string{zone, "a"}, preFilter: skip},
		{name: "volume with other labels: skip", volume: []string{"rack", "1"}, node: []string{zone, "a"}, preFilter: skip},
		{name: "label that can't be parsed: skip", volume: []string{zone, "a____b"}, node: []string{zone, "c"}, preFilter: skip},
		{name: "empty label: skip", volume: []string{zone, ""}, node: []string{zone, "c"}, preFilter: skip},
		{name: "node without labels", volume: []string{zone, "a"}},
		{name: "node with other labels", volume: []string{zone, "a"}, node: []string{"rack", "1"}},

		{name: "beta zone: match", volume: []string{betaZone, "a"}, node: []string{betaZone, "a", "rack", "1"}},
		{name: "beta zone: mismatch", volume: []string{betaZone, "a"}, node: []string{betaZone, "b"}, want: otherZone},
		{name: "beta region: match", volume: []string{betaRegion, "a"}, node: []string{betaRegion, "a"}},
		{name: "beta region: mismatch", volume: []string{betaRegion, "a"}, node: []string{betaRegion, "b"}, want: otherZone},
		{name: "zone: match", volume: []string{zone, "a"}, node: []string{zone, "a"}},
		{name: "zone: mismatch", volume: []string{zone, "a"}, node: []string{zone, "b"}, want: otherZone},
		{name: "region: match", volume: []string{region, "a"}, node: []string{region, "a"}},
		{name: "region: mismatch", volume: []string{region, "a"}, node: []string{region, "b"}, want: otherZone},

		{name: "several zones: match the first", volume: []string{zone, "a__b"}, node: []string{zone, "a"}},
		{name: "several zones: match the second", volume: []string{zone, "a__ b "}, node: []string{zone, "b"}},
		{name: "several zones: mismatch", volume: []string{zone, "a__b"}, node: []string{zone, "c"}, want: otherZone},
		{name: "several beta zones: match", volume: []string{betaZone, "a__b"}, node: []string{betaZone, "b"}},

		{name: "zone and region match", volume: []string{zone, "a", region, "r"}, node: []string{zone, "a", region, "r"}},
		{name: "only the zone matches", volume: []string{zone, "a", region, "r"}, node: []string{zone, "a", region, "s"}, want: otherZone},
		{name: "zone and region volume, node with a zone only", volume: []string{zone, "a", region, "r"}, node: []string{zone, "a"}, want: otherZone},

		{name: "beta volume, node with the new label", volume: []string{betaZone, "a"}, node: []string{zone, "a"}},
		{name: "beta volume, node with the new label, mismatch", volume: []string{betaZone, "a"}, node: []string{zone, "b"}, want: otherZone},
		{name: "beta region volume, node with the new label", volume: []string{betaRegion, "r"}, node: []string{region, "r"}},
		{name: "the beta label of the node goes first", volume: []string{betaZone, "a"}, node: []string{betaZone, "b", zone, "a"}, want: otherZone},
		{name: "new volume, node with the beta label", volume: []string{zone, "a"}, node: []string{betaZone, "a"}, want: otherZone},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pl := newPlugin(t, objects.PersistentVolumeClaim("c").Bound("v").Build(), volumeIn("v", tt.volume...))
			node := fixture.NodeInfo(objects.Node("n").With(func(node *v1.Node) { node.Labels = labels(tt.node...) }).Build())
			pod, state := claiming("c"), framework.NewCycleState()
			t.Run("PreFilter not called", func(t *testing.T) {
				fixture.CheckStatus(t, pl.Filter(t.Context(), state, pod, node), tt.want)
			})
			result, status := pl.PreFilter(t.Context(), state, pod, nil)
			fixture.CheckStatus(t, status, tt.preFilter)
			if result != nil {
				t.Errorf("PreFilter narrowed the nodes to %v", result.NodeNames)
			}
			if status.IsSuccess() {
				fixture.CheckStatus(t, pl.Filter(t.Context(), state.Clone(), pod, node), tt.want)
			}
		})
	}
}

// TestClaims looks claims up that may be in order or not, in a cluster where all volumes are in zone a.
func TestClaims(t *testing.T) {
	skip := fwk.NewStatus(fwk.Skip)
	never := func(reason string) *fwk.Status { return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, reason) }
	pl := newPlugin(t,
		volumeIn("v", zone, "a"),
		objects.PersistentVolumeClaim("bound").Bound("v").Build(),
		objects.PersistentVolumeClaim("lost").Bound("gone").Build(),
		objects.PersistentVolumeClaim("no-class").Build(),
		objects.PersistentVolumeClaim("missing-class").StorageClass("gone").Build(),
		objects.PersistentVolumeClaim("no-mode").StorageClass("no-mode").Build(),
		objects.PersistentVolumeClaim("immediate").StorageClass("immediate").Build(),
		objects.PersistentVolumeClaim("delayed").StorageClass("delayed").Build(),
		objects.PersistentVolumeClaim("delayed-by-annotation").With(func(claim *v1.PersistentVolumeClaim) {
			claim.Annotations = map[string]string{v1.BetaStorageClassAnnotation: "delayed"}
		}).Build(),
		objects.StorageClass("no-mode", "provisioner", ""),
		objects.StorageClass("immediate", "provisioner", storagev1.VolumeBindingImmediate),
		objects.StorageClass("delayed", "provisioner", storagev1.VolumeBindingWaitForFirstConsumer),
	)
	tests := []struct {
		name string
		pod  *v1.Pod
		want *fwk.Status
	}{
		{"no volume", objects.Pod("p").Build(), skip},
		{"volumes of other kinds", objects.Pod("p").Volume("tmp", v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}).Build(), skip},
		{"ephemeral volumes are not looked at", objects.Pod("p").EphemeralVolume("gone").Build(), skip},
		{"bound", claiming("bound"), nil},
		{"claim without a name", claiming(""), never("PersistentVolumeClaim had no name")},
		{"missing claim", claiming("gone"), never(`persistentvolumeclaim "gone" not found`)},
		{"missing volume", claiming("lost"), never(`persistentvolume "gone" not found`)},
		{"unbound with no class", claiming("no-class"), never("PersistentVolumeClaim had no pv name and storageClass name")},
		{"unbound with missing class", claiming("missing-class"), never(`storageclass.storage.k8s.io "gone" not found`)},
		{"unbound with a class without mode", claiming("no-mode"), never(`VolumeBindingMode not set for StorageClass "no-mode"`)},
		{"unbound with immediate class", claiming("immediate"), never("PersistentVolume had no name")},
		{"unbound with WaitForFirstConsumer class", claiming("delayed"), skip},
		{"unbound with class in the annotation", claiming("delayed-by-annotation"), skip},
		{"unbound with WaitForFirstConsumer class next to a bound one", claiming("delayed", "bound"), nil},
		{"the first claim that is not in order counts", claiming("bound", "gone", "no-class"), never(`persistentvolumeclaim "gone" not found`)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			state := framework.NewCycleState()
			_, status := pl.PreFilter(t.Context(), state, tt.pod, nil)
			fixture.CheckStatus(t, status, tt.want)
			if status.IsRejected() {
				node := fixture.NodeInfo(objects.Node("n").Label(zone, "a").Build())
				t.Run("PreFilter not called", func(t *testing.T) {
					fixture.CheckStatus(t, pl.Filter(t.Context(), framework.NewCycleState(), tt.pod, node), tt.want)
				})
			}
		})
	}
}

func TestFilterWithoutVolumes(t *testing.T) {
	node := fixture.NodeInfo(objects.Node("n").Label(zone, "a").Build())
	fixture.CheckStatus(t, newPlugin(t).Filter(t.Context(), framework.NewCycleState(), objects.Pod("p").Build(), node), nil)
}
