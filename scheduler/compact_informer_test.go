// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"weak"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// TestUsersOfATrimmedInformerSeePods has a handler, an index and a lister see the same pods, before and after they change.
func TestUsersOfATrimmedInformerSeePods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(objects.Pod("early").Node("n1").Build(), objects.Pod("waiting").Build())
		factory := NewInformerFactoryWith(client, InformerOptions{TrimPods: true})
		informer := factory.Core().V1().Pods().Informer()
		var heard []string
		last := map[string]*v1.Pod{}
		hear := func(what string, object any) *v1.Pod {
			pod := object.(*v1.Pod)
			heard = append(heard, what+" "+pod.Name+"@"+pod.Spec.NodeName+" "+pod.Labels["version"])
			return pod
		}
		if _, err := informer.AddEventHandler(clientcache.ResourceEventHandlerFuncs{
			AddFunc: func(object any) {
				pod := hear("add", object)
				last[pod.Name] = pod
			},
			UpdateFunc: func(old, new any) {
				before, after := hear("from", old), hear("to", new)
				if before != last[after.Name] {
					t.Errorf("the old version of %s is another object than the one that came before", after.Name)
				}
				last[after.Name] = after
			},
			DeleteFunc: func(object any) { hear("delete", object) },
		}); err != nil {
			t.Fatal(err)
		}
		if err := informer.AddIndexers(clientcache.Indexers{
			clientcache.NamespaceIndex: clientcache.MetaNamespaceIndexFunc,
			"node":                     func(object any) ([]string, error) { return []string{object.(*v1.Pod).Spec.NodeName}, nil },
		}); err != nil {
			t.Fatal(err)
		}
		if err := informer.SetTransform(dropManagedFields); err == nil {
			t.Error("a transform that would not be used is taken")
		}
		ctx, cancel := context.WithCancel(t.Context())
		factory.Start(ctx.Done())
		factory.WaitForCacheSync(ctx.Done())
		synctest.Wait()
		slices.Sort(heard)

		pods := client.CoreV1().Pods("default")
		_, errEarly := pods.Update(ctx, version2(objects.Pod("early").Node("n1")), metav1.UpdateOptions{})
		_, errWaiting := pods.Update(ctx, version2(objects.Pod("waiting").Node("n2")), metav1.UpdateOptions{})
		synctest.Wait()
		lister, indexer := factory.Core().V1().Pods().Lister(), informer.GetIndexer()
		listed, errGet := lister.Pods("default").Get("early")
		indexed, errIndex := indexer.ByIndex("node", "n1")
		if errEarly != nil || errWaiting != nil || errGet != nil || errIndex != nil {
			t.Fatal(errEarly, errWaiting, errGet, errIndex)
		}
		if listed != last["early"] || len(indexed) != 1 || indexed[0] != any(listed) {
			t.Errorf("the lister has %p, the index %v and the handler got %p, want one pod", listed, indexed, last["early"])
		}
		inNamespace, errList := indexer.ByIndex(clientcache.NamespaceIndex, "default")
		if errList != nil {
			t.Fatal(errList)
		}
		for what, list := range map[string][]any{"List": informer.GetStore().List(), "ByIndex": inNamespace} {
			for _, object := range list {
				if pod, ok := object.(*v1.Pod); !ok || last[pod.Name] != pod {
					t.Errorf("%s has %T, want the pod that the handler got", what, object)
				}
			}
		}
		if err := pods.Delete(ctx, "early", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		want := []string{
			"add early@n1 ", "add waiting@ ", "from early@n1 ", "to early@n1 2", "from waiting@ ", "to waiting@n2 2", "delete early@n1 2",
		}
		if diff := cmp.Diff(want, heard); diff != "" {
			t.Errorf("the handler heard otherwise (-want +got):\n%s", diff)
		}
		cancel()
		factory.Shutdown()
	})
}

func version2(pod objects.PodBuilder) *v1.Pod {
	return pod.With(func(pod *v1.Pod) { pod.ResourceVersion, pod.Labels = "2", map[string]string{"version": "2"} }).Build()
}

func TestTombstonesOfCompactPodsHavePods(t *testing.T) {
	compact := (&sharedValues{}).compacted(wholePod())
	got := fullPod(clientcache.DeletedFinalStateUnknown{Key: "default/a", Obj: compact})
	if diff := cmp.Diff(clientcache.DeletedFinalStateUnknown{Key: "default/a", Obj: keptPod()}, got); diff != "" {
		t.Errorf("the tombstone (-want +got):\n%s", diff)
	}
}

// TestCompactPodsPassThroughAScheduler has the events of a compact pod change the cache as those of any pod do, while neither
// the cache nor a snapshot keeps the v1.Pod.
func TestCompactPodsPassThroughAScheduler(t *testing.T) {
	f := newFixture(t)
	f.addNodes("n1")
	shared := &sharedValues{}
	pod := func(cpu string) *framework.CompactPod {
		return shared.compacted(objects.Pod("a").UID("a").Node("n1").Requests("cpu", cpu).Build())
	}
	first, second := pod("1"), pod("2")
	requested := func() int64 {
		if err := f.cache.UpdateSnapshot(f.snapshot); err != nil {
			t.Fatal(err)
		}
		node, err := f.snapshot.Get("n1")
		if err != nil {
			t.Fatal(err)
		}
		return node.GetRequested().GetMilliCPU()
	}
	f.podAdded(first)
	if got := requested(); got != 1000 {
		t.Errorf("after the pod came, %d millicores are requested, want 1000", got)
	}
	f.podUpdated(first, second)
	if got := requested(); got != 2000 {
		t.Errorf("after the pod grew, %d millicores are requested, want 2000", got)
	}
	made := weak.Make(second.Pod())
	runtime.GC()
	if made.Value() != nil {
		t.Error("something keeps the v1.Pod of a compact pod")
	}
	if cached, err := f.cache.Pod(second.Pod()); err != nil || cached != second.Pod() {
		t.Errorf("the cache has another pod: %v", err)
	}
	f.podDeleted(second)
	if got := requested(); got != 0 {
		t.Errorf("after the pod went, %d millicores are requested, want 0", got)
	}
}
