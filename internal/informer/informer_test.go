// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package informer_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/rouse-scheduler/rouse/internal/informer"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

func unfinished(o apiruntime.Object) bool {
	phase := o.(*v1.Pod).Status.Phase
	return phase != v1.PodSucceeded && phase != v1.PodFailed
}

func testPod(name string, phase v1.PodPhase) *v1.Pod {
	return objects.Pod(name).Namespace("shop").Phase(phase).Build()
}

// recorder notes what an informer tells it.
type recorder []string

func (r *recorder) handler() clientcache.ResourceEventHandler {
	name := func(o any) string { return o.(*v1.Pod).Name + " " + string(o.(*v1.Pod).Status.Phase) }
	return clientcache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(o any, initial bool) {
			what := "add "
			if initial {
				what = "initial "
			}
			*r = append(*r, what+name(o))
		},
		UpdateFunc: func(old, current any) { *r = append(*r, "update "+name(old)+" to "+name(current)) },
		DeleteFunc: func(o any) { *r = append(*r, "delete "+name(o)) },
	}
}

func TestInformerCallsHandlersInline(t *testing.T) {
	i := informer.New(unfinished)
	var early, late recorder
	registered, err := i.AddEventHandler(early.handler())
	if err != nil || !registered.HasSynced() || !clientcache.IsDone(registered.HasSyncedChecker()) {
		t.Fatalf("registering a handler: %v, not synced at once", err)
	}
	i.Deliver("shop/b", testPod("b", v1.PodPending))
	i.Deliver("shop/a", testPod("a", v1.PodPending))
	i.Deliver("shop/x", testPod("x", v1.PodSucceeded))
	if _, err := i.AddEventHandlerWithResyncPeriod(late.handler(), 1); err != nil {
		t.Fatal(err)
	}
	i.Deliver("shop/a", testPod("a", v1.PodRunning))
	i.Deliver("shop/a", testPod("a", v1.PodFailed))
	i.Deliver("shop/a", nil)
	if err := i.RemoveEventHandler(registered); err != nil {
		t.Fatal(err)
	}
	i.Deliver("shop/b", nil)
	wantEarly := recorder{"add b Pending", "add a Pending", "update a Pending to a Running", "delete a Running"}
	if diff := cmp.Diff(wantEarly, early); diff != "" {
		t.Errorf("the first handler heard otherwise (-want +got):\n%s", diff)
	}
	wantLate := recorder{"initial a Pending", "initial b Pending", "update a Pending to a Running", "delete a Running", "delete b Pending"}
	if diff := cmp.Diff(wantLate, late); diff != "" {
		t.Errorf("the second handler heard otherwise (-want +got):\n%s", diff)
	}
	if err := i.RemoveEventHandler(nil); err == nil {
		t.Error("removing no handler is no error")
	}
}

// An object that a list does not have any more was deleted at some time, in a state that is not known.
func TestInformerLosesObjects(t *testing.T) {
	i := informer.New(nil)
	var lost []clientcache.DeletedFinalStateUnknown
	if _, err := i.AddEventHandler(clientcache.ResourceEventHandlerFuncs{
		DeleteFunc: func(o any) { lost = append(lost, o.(clientcache.DeletedFinalStateUnknown)) },
	}); err != nil {
		t.Fatal(err)
	}
	pod := testPod("a", v1.PodPending)
	i.Deliver("shop/a", pod)
	i.Lose("shop/a")
	i.Lose("shop/a")
	if diff := cmp.Diff([]clientcache.DeletedFinalStateUnknown{{Key: "shop/a", Obj: pod}}, lost); diff != "" {
		t.Errorf("the handler heard otherwise (-want +got):\n%s", diff)
	}
	if keys := i.GetStore().ListKeys(); len(keys) > 0 {
		t.Errorf("the informer still has %v", keys)
	}
}

func TestInformerTransformsCopies(t *testing.T) {
	i := informer.New(nil)
	if err := i.SetTransform(func(o any) (any, error) {
		o.(*v1.Pod).Status.Message = "transformed"
		return o, nil
	}); err != nil {
		t.Fatal(err)
	}
	pod := testPod("a", "")
	i.Deliver("shop/a", pod)
	seen, found, err := i.GetStore().GetByKey("shop/a")
	if err != nil || !found || seen.(*v1.Pod).Status.Message != "transformed" || pod.Status.Message != "" {
		t.Errorf("got %v (%v, %v) of %v, want a transformed copy", seen, found, err, pod)
	}
}

func TestIndexerListsInOrder(t *testing.T) {
	i := informer.New(nil).Known()
	if err := i.AddIndexers(clientcache.Indexers{
		clientcache.NamespaceIndex: clientcache.MetaNamespaceIndexFunc,
		"phase":                    func(o any) ([]string, error) { return []string{string(o.(*v1.Pod).Status.Phase)}, nil },
	}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"d", "b", "e", "a", "c"} {
		if err := i.Add(testPod(name, v1.PodPending)); err != nil {
			t.Fatal(err)
		}
	}
	names := func(objects []any, err error) string {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
		text := ""
		for _, o := range objects {
			text += o.(*v1.Pod).Name
		}
		return text
	}
	lists := map[string]string{
		"List":    names(i.List(), nil),
		"ByIndex": names(i.ByIndex("phase", string(v1.PodPending))),
		"Index":   names(i.Index(clientcache.NamespaceIndex, testPod("", ""))),
	}
	for name, got := range lists {
		if got != "abcde" {
			t.Errorf("%s returns pods %q, want abcde", name, got)
		}
	}
	want := []string{"shop/a", "shop/b", "shop/c", "shop/d", "shop/e"}
	keys, err := i.IndexKeys(clientcache.NamespaceIndex, "shop")
	if diff := cmp.Diff(want, keys); diff != "" || err != nil {
		t.Errorf("IndexKeys differs (-want +got): %v\n%s", err, diff)
	}
	if diff := cmp.Diff(want, i.ListKeys()); diff != "" {
		t.Errorf("ListKeys differs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"Pending"}, i.ListIndexFuncValues("phase")); diff != "" {
		t.Errorf("ListIndexFuncValues differs (-want +got):\n%s", diff)
	}
}
