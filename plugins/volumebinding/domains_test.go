// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package volumebinding

import (
	"fmt"
	"math/rand/v2"
	"testing"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	storagevolume "k8s.io/component-helpers/storage/volume"
	"k8s.io/utils/ptr"
)

// someRequirement is one that some nodes of someLabels meet.
func someRequirement(r *rand.Rand) v1.NodeSelectorRequirement {
	values := []string{fmt.Sprint("a", r.IntN(3)), fmt.Sprint("a", r.IntN(3))}
	switch r.IntN(5) {
	case 0:
		return v1.NodeSelectorRequirement{Key: "zone", Operator: v1.NodeSelectorOpNotIn, Values: values}
	case 1:
		return v1.NodeSelectorRequirement{Key: "rack", Operator: v1.NodeSelectorOpExists}
	case 2:
		return v1.NodeSelectorRequirement{Key: "rack", Operator: v1.NodeSelectorOpIn, Values: values[:r.IntN(2)]} // of no values: invalid
	}
	return v1.NodeSelectorRequirement{Key: "zone", Operator: v1.NodeSelectorOpIn, Values: values}
}

func someSelector(r *rand.Rand) *v1.NodeSelector {
	selector := &v1.NodeSelector{}
	for range r.IntN(3) {
		var term v1.NodeSelectorTerm
		for range r.IntN(3) {
			term.MatchExpressions = append(term.MatchExpressions, someRequirement(r))
		}
		selector.NodeSelectorTerms = append(selector.NodeSelectorTerms, term)
	}
	return selector
}

func someLabels(r *rand.Rand) map[string]string {
	set := map[string]string{}
	for _, key := range []string{"zone", "rack"} {
		if r.IntN(4) > 0 {
			set[key] = fmt.Sprint("a", r.IntN(4))
		}
	}
	return set
}

func someVolume(r *rand.Rand, name string, claim *v1.PersistentVolumeClaim) *v1.PersistentVolume {
	volume := volume(name, static, "1Gi", func(volume *v1.PersistentVolume) {
		volume.Spec.Capacity[v1.ResourceStorage] = *resource.NewQuantity(int64(1+r.IntN(3))<<30, resource.BinarySI)
		volume.Spec.AccessModes = [][]v1.PersistentVolumeAccessMode{{v1.ReadWriteOnce}, {v1.ReadOnlyMany, v1.ReadWriteOnce}, nil}[r.IntN(3)]
		volume.Labels = map[string]string{"disk": []string{"ssd", "hdd"}[r.IntN(2)]}
	})
	if r.IntN(4) > 0 {
		volume.Spec.NodeAffinity = &v1.VolumeNodeAffinity{Required: someSelector(r)}
	}
	switch r.IntN(10) {
	case 0:
		volume.Status.Phase = v1.VolumeReleased
	case 1:
		volume.DeletionTimestamp = &metav1.Time{}
	case 2:
		volume.Spec.VolumeMode = ptr.To(v1.PersistentVolumeBlock)
	case 3:
		volume.Spec.ClaimRef = &v1.ObjectReference{Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID}
	case 4:
		volume.Spec.ClaimRef = &v1.ObjectReference{Namespace: claim.Namespace, Name: "another"}
	case 5:
		volume.Spec.StorageClassName = waiting
	}
	return volume
}

// The volume that is found by domains is the one that the library finds by looking at all.
func TestCandidatesAreThoseOfTheLibrary(t *testing.T) {
	found := 0
	for seed := range uint64(1_500) {
		r := rand.New(rand.NewPCG(seed, 1))
		claim := pending("c", static, "1Gi", modes([]v1.PersistentVolumeAccessMode{v1.ReadWriteOnce, v1.ReadOnlyMany}[r.IntN(2)]))
		if r.IntN(3) == 0 {
			claim.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"disk": "ssd"}}
		}
		all, existing := []*v1.PersistentVolume{}, []apiruntime.Object{claim}
		for i := range r.IntN(8) {
			all = append(all, someVolume(r, fmt.Sprint("v", i), claim))
			existing = append(existing, all[i])
		}
		pl := newPlugin(t, existing...)
		volumes, err := pl.candidates(claim)
		if err != nil {
			t.Fatal(err)
		}
		suitable := pl.suitable(claim, volumes)
		var ofClass []*v1.PersistentVolume
		for _, volume := range all {
			if volume.Spec.StorageClassName == static {
				ofClass = append(ofClass, volume)
			}
		}
		taken, takenByName := []binding(nil), map[string]*v1.PersistentVolume{}
		for range 6 {
			node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: someLabels(r)}}
			want, err := storagevolume.FindMatchingVolume(claim, ofClass, node, takenByName, true, true)
			if err != nil {
				t.Fatal(err)
			}
			got := suitable.on(node.Labels, taken)
			if got != want {
				t.Fatalf("seed %d, node with labels %v: got volume %v, want %v; of %v", seed, node.Labels, got, want, all)
			}
			if got != nil {
				found++
				if r.IntN(2) == 0 {
					taken, takenByName[got.Name] = append(taken, binding{volume: got}), got
				}
			}
		}
	}
	if found < 1_000 {
		t.Errorf("only %d volumes were found", found)
	}
}

// The storage that is found by domains is the first that a look at all in their order finds.
func TestCapacitiesByDomain(t *testing.T) {
	found := 0
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 2))
		driver := &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "provisioner"}, Spec: storagev1.CSIDriverSpec{StorageCapacity: ptr.To(true)}}
		claim, existing := pending("c", waiting, "1Gi"), []apiruntime.Object{driver}
		var capacities []*storagev1.CSIStorageCapacity
		for i := range r.IntN(8) {
			capacity := &storagev1.CSIStorageCapacity{
				ObjectMeta:       metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprint("room-", i)},
				StorageClassName: waiting, Capacity: resource.NewQuantity(int64(r.IntN(3))<<30, resource.BinarySI),
				NodeTopology: &metav1.LabelSelector{},
			}
			if r.IntN(3) > 0 {
				capacity.NodeTopology.MatchLabels = someLabels(r)
			}
			if r.IntN(3) == 0 {
				requirement := someRequirement(r)
				capacity.NodeTopology.MatchExpressions = []metav1.LabelSelectorRequirement{{
					Key: requirement.Key, Operator: metav1.LabelSelectorOperator(requirement.Operator), Values: requirement.Values,
				}}
			}
			capacities, existing = append(capacities, capacity), append(existing, capacity)
		}
		provisioner, err := newPlugin(t, existing...).provisionerFor(claim)
		if err != nil {
			t.Fatal(err)
		}
		for range 6 {
			node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: someLabels(r)}}
			want := firstCapacity(capacities, node)
			got, reason := provisioner.provisionOn(node)
			if got != want || (reason == "") != (want != nil) {
				t.Fatalf("seed %d, node with labels %v: got storage %v and reason %q, want %v; of %v", seed, node.Labels, got, reason, want, capacities)
			}
			if got != nil {
				found++
			}
		}
	}
	if found < 300 {
		t.Errorf("only %d times there was storage", found)
	}
}

// firstCapacity returns the first storage that has room for 1Gi on a node.
func firstCapacity(capacities []*storagev1.CSIStorageCapacity, node *v1.Node) *storagev1.CSIStorageCapacity {
	for _, capacity := range capacities {
		selector, err := metav1.LabelSelectorAsSelector(capacity.NodeTopology)
		if err == nil && capacity.Capacity.Value() >= 1<<30 && selector.Matches(labels.Set(node.Labels)) {
			return capacity
		}
	}
	return nil
}
