// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package csi_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clientcache "k8s.io/client-go/tools/cache"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/ptr"

	"github.com/rouse-scheduler/rouse/internal/csi"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

func newManager() *csi.Manager {
	return csi.New(informers.NewSharedInformerFactory(fake.NewClientset(), 0))
}

func attachment(node string) *storagev1.VolumeAttachment {
	return &storagev1.VolumeAttachment{Spec: storagev1.VolumeAttachmentSpec{
		NodeName: node, Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: ptr.To("v")},
	}}
}

func csiNode(migrated string) *storagev1.CSINode {
	return &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{
		Name: "n", Annotations: map[string]string{v1.MigratedPluginsAnnotationKey: migrated},
	}}
}

// counts are what the manager counts.
func counts(m *csi.Manager) [3]uint64 {
	return [3]uint64{m.Classes(), m.Migrations(), m.Capacities()}
}

func TestChanges(t *testing.T) {
	class := func(provisioner string) *storagev1.StorageClass {
		return objects.StorageClass("c", provisioner, "")
	}
	claim := objects.PersistentVolumeClaim("c").Build()
	volume := objects.PersistentVolume("v").Build()
	tests := []struct {
		name   string
		kind   fwk.EventResource
		notify func(clientcache.ResourceEventHandler)
		want   []csi.Change
		// counts are how often a class, what a node has migrated, and a capacity changed.
		counts [3]uint64
	}{
		{"CSINode added", fwk.CSINode, func(h clientcache.ResourceEventHandler) { h.OnAdd(csiNode("a"), false) },
			[]csi.Change{{Kind: csi.NodeChange, Name: "n"}}, [3]uint64{0, 1, 0}},
		{"CSINode updated", fwk.CSINode, func(h clientcache.ResourceEventHandler) { h.OnUpdate(csiNode("a"), csiNode("a")) },
			[]csi.Change{{Kind: csi.NodeChange, Name: "n"}}, [3]uint64{}},
		{"another plugin migrated", fwk.CSINode, func(h clientcache.ResourceEventHandler) { h.OnUpdate(csiNode("a"), csiNode("b")) },
			[]csi.Change{{Kind: csi.NodeChange, Name: "n"}}, [3]uint64{0, 1, 0}},
		{"attachment moved", fwk.VolumeAttachment, func(h clientcache.ResourceEventHandler) { h.OnUpdate(attachment("n"), attachment("m")) },
			[]csi.Change{{Kind: csi.NodeChange, Name: "n"}, {Kind: csi.NodeChange, Name: "m"}}, [3]uint64{}},
		{"attachment of no node", fwk.VolumeAttachment, func(h clientcache.ResourceEventHandler) { h.OnAdd(attachment(""), false) }, nil, [3]uint64{}},
		{"deletion was missed", fwk.VolumeAttachment, func(h clientcache.ResourceEventHandler) {
			h.OnDelete(clientcache.DeletedFinalStateUnknown{Obj: attachment("n")})
		}, []csi.Change{{Kind: csi.NodeChange, Name: "n"}}, [3]uint64{}},
		{"claim", fwk.PersistentVolumeClaim, func(h clientcache.ResourceEventHandler) { h.OnUpdate(claim, claim) },
			[]csi.Change{{Kind: csi.ClaimChange, Name: "default/c"}}, [3]uint64{}},
		{"volume deleted", fwk.PersistentVolume, func(h clientcache.ResourceEventHandler) { h.OnDelete(volume) },
			[]csi.Change{{Kind: csi.VolumeChange, Name: "v"}}, [3]uint64{}},
		{"class added", fwk.StorageClass, func(h clientcache.ResourceEventHandler) { h.OnAdd(class("a"), false) }, nil, [3]uint64{1, 0, 0}},
		{"class updated", fwk.StorageClass, func(h clientcache.ResourceEventHandler) { h.OnUpdate(class("a"), class("a")) }, nil, [3]uint64{}},
		{"another provisioner", fwk.StorageClass, func(h clientcache.ResourceEventHandler) { h.OnUpdate(class("a"), class("b")) }, nil, [3]uint64{1, 0, 0}},
		{"capacity", fwk.CSIStorageCapacity, func(h clientcache.ResourceEventHandler) { h.OnAdd(&storagev1.CSIStorageCapacity{}, false) },
			nil, [3]uint64{0, 0, 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, before := newManager(), [3]uint64{}
			tt.notify(m.Handler(tt.kind, clientcache.ResourceEventHandlerFuncs{}))
			got, end, ok := m.Since(0)
			if diff := cmp.Diff(tt.want, got); diff != "" || !ok || end != uint64(len(tt.want)) || end != m.Position() {
				t.Errorf("changes up to %d (-want +got), known: %v:\n%s", end, ok, diff)
			}
			if got := counts(m); got != tt.counts {
				t.Errorf("counts went from %v to %v, want %v", before, got, tt.counts)
			}
			if later, _, _ := m.Since(end); len(later) > 0 {
				t.Errorf("after the end there is %v", later)
			}
		})
	}
}

// Whoever is told of a change by the handler behind finds it among the changes.
func TestManagerIsToldFirst(t *testing.T) {
	m, told := newManager(), 0
	check := func() {
		told++
		if got := m.Position(); got != uint64(told) {
			t.Errorf("%d changes are known when the next handler is told of the %d. one", got, told)
		}
	}
	handler := m.Handler(fwk.PersistentVolume, clientcache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { check() }, UpdateFunc: func(any, any) { check() }, DeleteFunc: func(any) { check() },
	})
	volume := objects.PersistentVolume("v").Build()
	handler.OnAdd(volume, true)
	handler.OnUpdate(volume, volume)
	handler.OnDelete(volume)
	if told != 3 {
		t.Errorf("the next handler was told of %d changes, want 3", told)
	}
}

func TestChangesLongPast(t *testing.T) {
	m := newManager()
	handler := m.Handler(fwk.PersistentVolume, clientcache.ResourceEventHandlerFuncs{})
	const many = 100_000
	for i := range many {
		handler.OnAdd(&v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(i)}}, false)
	}
	if _, end, ok := m.Since(1); ok || end != many {
		t.Errorf("the changes since position 1 are known: %v, up to %d; want that they are not", ok, end)
	}
	changes, _, ok := m.Since(many - 2)
	want := []csi.Change{{Kind: csi.VolumeChange, Name: fmt.Sprint(many - 2)}, {Kind: csi.VolumeChange, Name: fmt.Sprint(many - 1)}}
	if diff := cmp.Diff(want, changes); diff != "" || !ok {
		t.Errorf("the last changes (-want +got), known: %v:\n%s", ok, diff)
	}
}

func TestFollow(t *testing.T) {
	m := newManager()
	if !m.Follow(fwk.CSINode, fwk.PersistentVolume) {
		t.Error("it is too late to follow anything before there are handlers")
	}
	if !m.Follows(fwk.CSINode) || m.Follows(fwk.StorageClass) {
		t.Error("other kinds are followed than were asked for")
	}
	if !m.Follow(fwk.PersistentVolume) {
		t.Error("what is followed already can't be followed by another plugin")
	}
	if m.Follow(fwk.PersistentVolume, fwk.StorageClass) {
		t.Error("a kind without a handler is said to be followed")
	}
}
