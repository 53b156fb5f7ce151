// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package assumed_test

import (
	"fmt"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/rouse-scheduler/rouse/plugins/internal/assumed"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// object returns a claim named c of a version; what tells objects of the same version from each other.
func object(version, what string) *v1.PersistentVolumeClaim {
	return objects.PersistentVolumeClaim("c").With(func(claim *v1.PersistentVolumeClaim) {
		claim.ResourceVersion, claim.Spec.VolumeName = version, what
	}).Build()
}

// informer is a shared informer without goroutines, whose handlers are called by whoever changes an object.
type informer struct {
	clientcache.SharedIndexInformer
	handlers []clientcache.ResourceEventHandler
}

func newInformer() *informer {
	return &informer{SharedIndexInformer: informers.NewSharedInformerFactory(nil, 0).Core().V1().PersistentVolumeClaims().Informer()}
}

func (i *informer) AddEventHandler(handler clientcache.ResourceEventHandler) (clientcache.ResourceEventHandlerRegistration, error) {
	i.handlers = append(i.handlers, handler)
	return nil, nil
}

func (i *informer) RemoveEventHandler(clientcache.ResourceEventHandlerRegistration) error {
	i.handlers = nil
	return nil
}

func (i *informer) put(claim *v1.PersistentVolumeClaim) {
	_ = i.GetIndexer().Update(claim)
	for _, handler := range i.handlers {
		handler.OnUpdate(nil, claim)
	}
}

func (i *informer) remove(claim *v1.PersistentVolumeClaim, announced any) {
	_ = i.GetIndexer().Delete(claim)
	for _, handler := range i.handlers {
		handler.OnDelete(announced)
	}
}

func newCache(t *testing.T, informer clientcache.SharedIndexInformer) *assumed.Cache[*v1.PersistentVolumeClaim] {
	t.Helper()
	cache, err := assumed.New[*v1.PersistentVolumeClaim](v1.Resource("persistentvolumeclaim"), informer)
	if err != nil {
		t.Fatal(err)
	}
	return cache
}

const key = "default/c"

// check compares what the cache and the informer have; empty means that they have nothing.
func check(t *testing.T, cache *assumed.Cache[*v1.PersistentVolumeClaim], wantCurrent, wantStored string) {
	t.Helper()
	if got := show(cache.Get(key)); got != wantCurrent {
		t.Errorf("Get: got %q, want %q", got, wantCurrent)
	}
	if got := show(cache.Stored(key)); got != wantStored {
		t.Errorf("Stored: got %q, want %q", got, wantStored)
	}
	listed, err := cache.ByIndex(clientcache.NamespaceIndex, "default")
	if err != nil {
		t.Fatal(err)
	}
	var got string
	for _, claim := range listed {
		got += show(claim, nil)
	}
	if got != wantCurrent {
		t.Errorf("ByIndex: got %q, want %q", got, wantCurrent)
	}
}

func show(claim *v1.PersistentVolumeClaim, err error) string {
	if apierrors.IsNotFound(err) {
		return ""
	}
	if err != nil {
		return err.Error()
	}
	return claim.ResourceVersion + claim.Spec.VolumeName
}

func TestAssumeAndRestore(t *testing.T) {
	informer := newInformer()
	cache := newCache(t, informer)
	check(t, cache, "", "")
	informer.put(object("1", ""))
	check(t, cache, "1", "1")

	first, second := object("1", "first"), object("1", "second")
	for _, step := range []struct {
		claim *v1.PersistentVolumeClaim
		want  string
	}{{first, "1first"}, {second, "1second"}} {
		if err := cache.Assume(step.claim); err != nil {
			t.Fatal(err)
		}
		check(t, cache, step.want, "1")
	}
	cache.Restore(first) // is not the one that is assumed
	check(t, cache, "1second", "1")
	cache.Restore(object("1", "second")) // neither
	check(t, cache, "1second", "1")
	cache.Restore(second)
	check(t, cache, "1", "1")
	cache.Restore(second)
	check(t, cache, "1", "1")
}

func TestAssumeFails(t *testing.T) {
	informer := newInformer()
	cache := newCache(t, informer)
	if err := cache.Assume(object("1", "x")); !apierrors.IsNotFound(err) || err.Error() != `persistentvolumeclaim "default/c" not found` {
		t.Errorf("object that is not there: got error %v", err)
	}
	informer.put(object("2", ""))
	for _, version := range []string{"1", "3"} {
		err := cache.Assume(object(version, "x"))
		want := fmt.Sprintf(`persistentvolumeclaim "default/c" is out of sync (stored: 2, assume: %s)`, version)
		if err == nil || err.Error() != want {
			t.Errorf("version %s: got error %v, want %s", version, err, want)
		}
	}
	check(t, cache, "2", "2")
}

// TestInformerEvents has an assumed change of version 1.
func TestInformerEvents(t *testing.T) {
	tombstone := clientcache.DeletedFinalStateUnknown{Key: key, Obj: object("1", "")}
	tests := []struct {
		name          string
		happens       func(*informer)
		current       string
		stored        string
		keptForReturn bool // whether the change counts again if version 1 comes back
	}{
		{"nothing", func(*informer) {}, "1x", "1", true},
		{"resync with the same version", func(i *informer) { i.put(object("1", "")) }, "1x", "1", true},
		{"newer version", func(i *informer) { i.put(object("2", "")) }, "2", "2", false},
		{"older version", func(i *informer) { i.put(object("0", "")) }, "0", "0", false},
		{"deleted", func(i *informer) { i.remove(object("1", ""), object("1", "")) }, "", "", false},
		{"deleted with a tombstone", func(i *informer) { i.remove(object("1", ""), tombstone) }, "", "", false},
		{"stale announcement", func(i *informer) {
			for _, handler := range i.handlers {
				handler.OnUpdate(object("0", ""), object("0", ""))
				handler.OnDelete(object("0", ""))
			}
		}, "1x", "1", true},
		{"an object that is none", func(i *informer) { i.handlers[0].OnAdd("what", false) }, "1x", "1", true},
		{"newer version, not announced yet", func(i *informer) { _ = i.GetIndexer().Update(object("2", "")) }, "2", "2", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			informer := newInformer()
			cache := newCache(t, informer)
			informer.put(object("1", ""))
			if err := cache.Assume(object("1", "x")); err != nil {
				t.Fatal(err)
			}
			tt.happens(informer)
			check(t, cache, tt.current, tt.stored)
			_ = informer.GetIndexer().Update(object("1", ""))
			if got := show(cache.Get(key)) == "1x"; got != tt.keptForReturn {
				t.Errorf("the change is kept: got %v, want %v", got, tt.keptForReturn)
			}
		})
	}
}

func TestUnknownIndex(t *testing.T) {
	if _, err := newCache(t, newInformer()).ByIndex("colour", "red"); err == nil {
		t.Error("got no error")
	}
}

func TestWrongObjects(t *testing.T) {
	informer := newInformer()
	cache := newCache(t, informer)
	if err := informer.GetIndexer().Add(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "c"}}); err != nil {
		t.Fatal(err)
	}
	want := `looking up persistentvolumeclaim "default/c": the informer has a *v1.Pod`
	if diff := cmp.Diff(want, show(cache.Get(key))); diff != "" {
		t.Errorf("errors of Get differ (-want +got):\n%s", diff)
	}
	if _, err := cache.ByIndex(clientcache.NamespaceIndex, "default"); err == nil || err.Error() != want {
		t.Errorf("got error %v of ByIndex, want %s", err, want)
	}
}

func TestClose(t *testing.T) {
	informer := newInformer()
	cache := newCache(t, informer)
	if err := cache.Close(); err != nil || informer.handlers != nil {
		t.Errorf("got error %v, handlers %v", err, informer.handlers)
	}
}

// TestRealInformer follows an object from a change that is assumed to the informer that has it.
func TestRealInformer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(object("1", ""))
		factory := informers.NewSharedInformerFactory(client, 0)
		shared := factory.Core().V1().PersistentVolumeClaims().Informer()
		cache := newCache(t, shared)
		factory.Start(t.Context().Done())
		t.Cleanup(factory.Shutdown)
		factory.WaitForCacheSync(t.Context().Done())

		changed := object("1", "x")
		if err := cache.Assume(changed); err != nil {
			t.Fatal(err)
		}
		if got := show(cache.Get(key)); got != "1x" {
			t.Errorf("assumed: got %q", got)
		}
		if _, err := client.CoreV1().PersistentVolumeClaims("default").Update(t.Context(), object("2", "x"), metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := show(cache.Get(key)); got != "2x" {
			t.Errorf("written: got %q", got)
		}
		cache.Restore(changed)
		if got := show(cache.Get(key)); got != "2x" {
			t.Errorf("restored: got %q", got)
		}
	})
}

// TestRaces changes, assumes, restores and reads one object from many goroutines. Whatever their order, an assumed change
// never hides a newer version.
func TestRaces(t *testing.T) {
	informer := newInformer()
	cache := newCache(t, informer)
	informer.put(object("0", ""))
	var wg sync.WaitGroup
	const rounds = 500
	wg.Go(func() {
		for version := range rounds {
			informer.put(object(strconv.Itoa(version), ""))
		}
	})
	for range 3 {
		wg.Go(func() {
			for version := range rounds {
				claim := object(strconv.Itoa(version), "x")
				if cache.Assume(claim) == nil && version%2 == 0 {
					cache.Restore(claim)
				}
			}
		})
		wg.Go(func() {
			last := -1
			for range rounds {
				claim, err := cache.Get(key)
				if err != nil {
					t.Error(err)
					return
				}
				version, _ := strconv.Atoi(claim.ResourceVersion)
				if version < last {
					t.Errorf("version %d came after %d", version, last)
					return
				}
				last = version
			}
		})
	}
	wg.Wait()
	if got := show(cache.Stored(key)); got != strconv.Itoa(rounds-1) {
		t.Errorf("got %q at last", got)
	}
}
