// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package volumebinding

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientcache "k8s.io/client-go/tools/cache"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/ptr"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/internal/csi"
	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// managed is a plugin with a manager that hears what changes.
type managed struct {
	*plugin
	manager *csi.Manager
}

func newManaged(t *testing.T, existing ...apiruntime.Object) managed {
	t.Helper()
	factory := fixture.Informers(t, append(classes(), existing...)...)
	manager := csi.New(factory)
	return managed{buildPlugin(t, nil, &fixture.Handle{Informers: factory, CSI: manager}), manager}
}

// keys returns the keys of a pod for verdicts and for scores.
func (m managed) keys(t *testing.T, pod *v1.Pod) (filter, score string) {
	t.Helper()
	state := framework.NewCycleState()
	if _, status := m.PreFilter(t.Context(), state, pod, nil); !status.IsSuccess() {
		t.Fatalf("PreFilter: %v", status)
	}
	filterKey, ok := m.AppendFilterKey(nil, state, pod)
	if !ok {
		t.Fatal("there is no key for verdicts")
	}
	scoreKey, ok := m.AppendScoreKey(nil, state, pod)
	if !ok {
		t.Fatal("there is no key for scores")
	}
	return string(filterKey), string(scoreKey)
}

func TestPodsAlikeShareKeys(t *testing.T) {
	zonal := func(name string) *v1.PersistentVolume { return volume(name, "", "1Gi", reachableFrom(zone, "a")) }
	m := newManaged(t,
		pending("waits", waiting, "1Gi"), pending("waits-too", waiting, "2Gi"),
		objects.PersistentVolumeClaim("bound").Bound("v").Build(), objects.PersistentVolumeClaim("bound-too").Bound("w").Build(), zonal("v"), zonal("w"))
	for _, pair := range [][2]string{{"waits", "waits-too"}, {"bound", "bound-too"}} {
		one, _ := m.keys(t, claiming(pair[0]))
		other, _ := m.keys(t, claiming(pair[1]))
		if one != other {
			t.Errorf("the keys of pods with claims %v differ", pair)
		}
	}
}

// Whatever makes a difference to a verdict or a score makes one to the key.
func TestKeysTellPodsApart(t *testing.T) {
	one := []apiruntime.Object{pending("c", static, "1Gi")}
	with := func(others ...apiruntime.Object) []apiruntime.Object {
		return append(append([]apiruntime.Object{}, one...), others...)
	}
	version := func(uid, version string) func(*v1.PersistentVolume) {
		return func(volume *v1.PersistentVolume) { volume.UID, volume.ResourceVersion = types.UID(uid), version }
	}
	bound := func(changes ...func(*v1.PersistentVolume)) []apiruntime.Object {
		return []apiruntime.Object{objects.PersistentVolumeClaim("c").Bound("v").Build(), volume("v", "", "1Gi", changes...)}
	}
	allowed := func(values ...string) *storagev1.StorageClass {
		return storageClass("allowed", storagev1.VolumeBindingWaitForFirstConsumer, func(class *storagev1.StorageClass) {
			class.AllowedTopologies = []v1.TopologySelectorTerm{{
				MatchLabelExpressions: []v1.TopologySelectorLabelRequirement{{Key: zone, Values: values}},
			}}
		})
	}
	limited := func(class, size string, more ...apiruntime.Object) []apiruntime.Object {
		return append(more, csiDriver(ptr.To(true)), pending("c", class, size))
	}
	seen := map[string]string{}
	for name, existing := range map[string][]apiruntime.Object{
		"a volume is made":              {pending("c", waiting, "1Gi")},
		"a volume is made in zone a":    {pending("c", "allowed", "1Gi"), allowed("a")},
		"a volume is made in a or b":    {pending("c", "allowed", "1Gi"), allowed("a", "b")},
		"no volume is made":             one,
		"there is a volume":             with(volume("v", static, "1Gi")),
		"its next version":              with(volume("v", static, "1Gi", version("v", "2"))),
		"another of its name":           with(volume("v", static, "1Gi", version("w", "1"))),
		"another":                       with(volume("w", static, "1Gi", version("v", "1"))),
		"a volume for the claim":        with(volume("v", static, "1Gi", claimedBy("c"))),
		"two volumes":                   with(volume("v", static, "1Gi"), volume("w", static, "1Gi")),
		"being made on n":               {pending("c", waiting, "1Gi", selected("n"))},
		"being made on m":               {pending("c", waiting, "1Gi", selected("m"))},
		"bound":                         bound(),
		"bound to a volume that's gone": {objects.PersistentVolumeClaim("c").Bound("v").Build()},
		"bound in zone a":               bound(reachableFrom(zone, "a")),
		"bound in zone b":               bound(reachableFrom(zone, "b")),
		"bound in rack a":               bound(reachableFrom("rack", "a")),
		"bound in tree in zone a":       bound(inTreeZone("vol-1", "a")),
		"bound in tree in zone b":       bound(inTreeZone("vol-1", "b")),
		"some storage":                  limited(waiting, "1Gi"),
		"more storage":                  limited(waiting, "2Gi"),
		"storage of another class":      limited("other", "1Gi", objects.StorageClass("other", "provisioner", storagev1.VolumeBindingWaitForFirstConsumer)),
	} {
		key, _ := newManaged(t, existing...).keys(t, claiming("c"))
		if other, taken := seen[key]; taken {
			t.Errorf("%q and %q have the same key", name, other)
		}
		seen[key] = name
	}
}

func TestScoreKeysTellPodsApart(t *testing.T) {
	seen := map[string]string{}
	for name, existing := range map[string][]apiruntime.Object{
		"storage is not known":   {pending("c", waiting, "1Gi")},
		"a half":                 {pending("c", static, "1Gi"), volume("v", static, "2Gi")},
		"all of it":              {pending("c", static, "2Gi"), volume("v", static, "2Gi")},
		"of another volume":      {pending("c", static, "1Gi"), volume("w", static, "2Gi")},
		"what the driver knows":  {csiDriver(ptr.To(true)), pending("c", waiting, "1Gi"), capacity("x", waiting, "a", "5Gi")},
		"more of what it knows ": {csiDriver(ptr.To(true)), pending("c", waiting, "2Gi"), capacity("x", waiting, "a", "5Gi")},
	} {
		_, key := newManaged(t, existing...).keys(t, claiming("c"))
		if other, taken := seen[key]; taken {
			t.Errorf("%q and %q have the same key", name, other)
		}
		seen[key] = name
	}
}

// What the manager hears of makes other keys, and other verdicts.
func TestKeysChangeWithTheCluster(t *testing.T) {
	nothing := clientcache.ResourceEventHandlerFuncs{}
	tests := []struct {
		name     string
		existing []apiruntime.Object
		kind     fwk.EventResource
		changed  apiruntime.Object
		before   *fwk.Status
		after    *fwk.Status
	}{
		{"storage", []apiruntime.Object{csiDriver(ptr.To(true)), pending("c", waiting, "1Gi")},
			fwk.CSIStorageCapacity, capacity("x", waiting, "a", "5Gi"), never(noCapacity), nil},
		{"migration", []apiruntime.Object{objects.PersistentVolumeClaim("c").Bound("v").Build(), volume("v", "", "1Gi", inTreeZone("vol-1", "a"))},
			fwk.CSINode, csiNode("kubernetes.io/aws-ebs"), nil, never(nodeConflict)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			node := objects.Node("n").Label(zone, "a").Label("topology.kubernetes.io/zone", "a").Build()
			factory := fixture.Informers(t, append(classes(), tt.existing...)...)
			manager := csi.New(factory)
			m := managed{buildPlugin(t, nil, &fixture.Handle{Informers: factory, CSI: manager}), manager}
			before, _ := m.keys(t, claiming("c"))
			_, statuses := filter(t, m.plugin, claiming("c"), node)
			fixture.CheckStatus(t, statuses["n"], tt.before)

			fixture.Store(t, factory, tt.changed)
			manager.Handler(tt.kind, nothing).OnAdd(tt.changed, false)
			if after, _ := m.keys(t, claiming("c")); after == before {
				t.Error("the key is the same as before")
			}
			_, statuses = filter(t, m.plugin, claiming("c"), node)
			fixture.CheckStatus(t, statuses["n"], tt.after)
		})
	}
}

// Without a manager there is no key for what only it can tell.
func TestNoKeys(t *testing.T) {
	for name, existing := range map[string][]apiruntime.Object{
		"storage":   {csiDriver(ptr.To(true)), pending("c", waiting, "1Gi")},
		"migration": {objects.PersistentVolumeClaim("c").Bound("v").Build(), volume("v", "", "1Gi", inTreeZone("vol-1", "a"))},
	} {
		pl, state := newPlugin(t, existing...), framework.NewCycleState()
		if _, status := pl.PreFilter(t.Context(), state, claiming("c"), nil); !status.IsSuccess() {
			t.Fatal(status)
		}
		if _, ok := pl.AppendFilterKey(nil, state, claiming("c")); ok {
			t.Errorf("%s: there is a key", name)
		}
	}
}

// Where the verdicts are known from before, Filter is not called; Reserve plans all the same.
func TestReserveWithoutFilter(t *testing.T) {
	handle := &fixture.Handle{
		Informers: fixture.Informers(t, pending("c", static, "1Gi"), volume("v", static, "1Gi", inZoneA), classes()[1]),
		Nodes:     fixture.Nodes{Infos: []*framework.NodeInfo{fixture.NodeInfo(nodeIn("n", "a"))}},
	}
	pl, state := buildPlugin(t, nil, handle), framework.NewCycleState()
	if _, status := pl.PreFilter(t.Context(), state, claiming("c"), nil); !status.IsSuccess() {
		t.Fatal(status)
	}
	fixture.CheckStatus(t, pl.Reserve(t.Context(), state, claiming("c"), "n"), nil)
	checkPreFlight(t, pl, state, claiming("c"), "n", nil)
	assumed, err := pl.volumes.Get("v")
	if err != nil || assumed.Spec.ClaimRef == nil || assumed.Spec.ClaimRef.Name != "c" {
		t.Errorf("volume v is assumed as %v, error %v; want it bound to claim c", assumed, err)
	}
}
