// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/dynamicinformer"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/queue"
)

func TestCustomResourceWakesPods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const kind = "licenses.v1.example.com"
		licensed := false
		waiting := &scripted{
			name:   "License",
			events: []fwk.ClusterEventWithHint{onEvent(kind, fwk.Add), onEvent("notacustomkind", fwk.Add)},
			filter: func(*v1.Pod, fwk.NodeInfo) *fwk.Status {
				if !licensed {
					return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "no license")
				}
				return nil
			},
		}
		client := fake.NewClientset(objects.Node("n1").Capacity("cpu", "4", "memory", "8Gi").Build(), objects.Pod("a").Requests("cpu", "1").Build())
		bindInTracker(client)
		gvr := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "licenses"}
		dynamic := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(apiruntime.NewScheme(),
			map[schema.GroupVersionResource]string{gvr: "LicenseList"})
		f := &fixture{t: t}
		options := Options{
			Client:           client,
			Informers:        NewInformerFactory(client),
			DynamicInformers: dynamicinformer.NewDynamicSharedInformerFactory(dynamic, 0),
		}
		options.Registry, options.Configuration = f.with(waiting)
		s, err := New(t.Context(), options)
		if err != nil {
			t.Fatal(err)
		}
		start(t, s, options)
		synctest.Wait()
		if status, _ := s.Queue().Lookup("default", "a"); len(status.UnschedulablePlugins) != 1 || status.UnschedulablePlugins[0] != "License" {
			t.Fatalf("rejected by %v, want License", status.UnschedulablePlugins)
		}
		licensed = true
		license := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "example.com/v1", "kind": "License", "metadata": map[string]any{"name": "l"},
		}}
		if _, err := dynamic.Resource(gvr).Create(t.Context(), license, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		waitForNode(t, client, "a")
	})
}

func TestOnlyKindsThatPluginsWaitForAreWatched(t *testing.T) {
	tests := []struct {
		name   string
		events []fwk.EventResource
		want   int
	}{
		{"pods and nodes always", nil, 2},
		{"pods in all their forms", []fwk.EventResource{fwk.Pod, fwk.AssignedPod, fwk.UnscheduledPod, fwk.TargetPod, fwk.Node}, 2},
		{"others", []fwk.EventResource{fwk.PersistentVolumeClaim, fwk.CSINode, fwk.DeviceClass, fwk.ResourceSlice}, 6},
		{"a custom kind, without informers for such", []fwk.EventResource{"foos.v1.example.com"}, 2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			plugin := &scripted{name: "P"}
			for _, resource := range test.events {
				plugin.events = append(plugin.events, onEvent(resource, fwk.Add))
			}
			f := newFixtureWith(t, bare, plugin)
			if got := len(f.handlers); got != test.want {
				t.Errorf("%d kinds are watched, want %d", got, test.want)
			}
		})
	}
}

func TestWildcardsWatchEveryKindThatIsNotOptional(t *testing.T) {
	everything := &scripted{name: "P", events: []fwk.ClusterEventWithHint{onEvent(fwk.WildCard, fwk.All)}}
	f := newFixtureWith(t, bare, everything)
	want := 2 // pods and nodes
	for _, row := range framework.Resources() {
		if resource := row.Informer.Resource; resource != "pods" && resource != "nodes" && !row.Optional {
			want++
		}
	}
	if got := len(f.handlers); got != want || want < 12 {
		t.Errorf("%d kinds are watched, want %d", got, want)
	}
}

func TestOptionalKindsAreNotWatched(t *testing.T) {
	f := newFixtureWith(t, bare, &scripted{name: "P", events: []fwk.ClusterEventWithHint{onEvent(fwk.PodGroup, fwk.Add)}})
	if got := len(f.handlers); got != 2 {
		t.Errorf("%d kinds are watched, want pods and nodes", got)
	}
}

// Events of a kind that plugins wait for reach their hints as the informer delivers them.
func TestObjectsOfOtherKindsReachHints(t *testing.T) {
	claim := func(version string) *v1.PersistentVolumeClaim {
		return &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "c", ResourceVersion: version}}
	}
	tombstone := clientcache.DeletedFinalStateUnknown{Key: "default/c", Obj: claim("2")}
	const add, update, deletion = "add", "update", "delete"
	tests := []struct {
		name     string
		actions  fwk.ActionType
		old, new any
		kind     string
		want     bool
	}{
		{name: "an addition", actions: fwk.Add, new: claim("1"), kind: add, want: true},
		{name: "an addition that no plugin waits for", actions: fwk.Update | fwk.Delete, new: claim("1"), kind: add},
		{name: "an update", actions: fwk.Update, old: claim("1"), new: claim("2"), kind: update, want: true},
		{name: "an update that no plugin waits for", actions: fwk.Add | fwk.Delete, old: claim("1"), new: claim("2"), kind: update},
		{name: "a deletion", actions: fwk.Delete, old: claim("2"), kind: deletion, want: true},
		{name: "a deletion that was missed", actions: fwk.Delete, old: tombstone, kind: deletion, want: true},
		{name: "a deletion that no plugin waits for", actions: fwk.Add | fwk.Update, old: claim("2"), kind: deletion},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			type call struct{ Old, New any }
			var calls []call
			var unwrapped []string
			event := onEvent(fwk.PersistentVolumeClaim, test.actions)
			event.QueueingHintFn = func(_ klog.Logger, _ *v1.Pod, oldObj, newObj any) (fwk.QueueingHint, error) {
				calls = append(calls, call{oldObj, newObj})
				oldClaim, newClaim, err := framework.HintObjects[v1.PersistentVolumeClaim](oldObj, newObj)
				for _, claim := range []*v1.PersistentVolumeClaim{oldClaim, newClaim} {
					if claim != nil {
						unwrapped = append(unwrapped, claim.ResourceVersion)
					}
				}
				return fwk.Queue, err
			}
			f := newFixtureWith(t, bare, &scripted{name: "P", filter: full, events: []fwk.ClusterEventWithHint{event}})
			f.addNodes("n1")
			f.park(objects.Pod("a").Requests("cpu", "1").Build())
			handler := f.objectHandler(fwk.PersistentVolumeClaim, f.EventMap().Actions(fwk.PersistentVolumeClaim))
			switch test.kind {
			case add:
				handler.OnAdd(test.new, false)
			case update:
				handler.OnUpdate(test.old, test.new)
			case deletion:
				handler.OnDelete(test.old)
			}
			if !test.want {
				f.wantPool("a", queue.PoolUnschedulable)
				if len(calls) > 0 {
					t.Errorf("the hint was called %d times, want never", len(calls))
				}
				return
			}
			f.wantPool("a", queue.PoolBackoff)
			if diff := cmp.Diff([]call{{test.old, test.new}}, calls); diff != "" {
				t.Errorf("calls of the hint (-want +got):\n%s", diff)
			}
			if len(unwrapped) == 0 {
				t.Error("the hint saw no claim")
			}
		})
	}
}

func TestClaimsReachHintsThroughInformers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var seen []string
		event := onEvent(fwk.PersistentVolumeClaim, fwk.All)
		event.QueueingHintFn = func(_ klog.Logger, _ *v1.Pod, oldObj, newObj any) (fwk.QueueingHint, error) {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, fmt.Sprintf("%T %T", oldObj, newObj))
			return fwk.QueueSkip, nil
		}
		client := fake.NewClientset(objects.Node("n1").Capacity("cpu", "4", "memory", "8Gi").Build(), objects.Pod("a").Requests("cpu", "1").Build())
		f := &fixture{t: t}
		options := Options{Client: client, Informers: NewInformerFactory(client)}
		options.Registry, options.Configuration = f.with(&scripted{name: "P", filter: full, events: []fwk.ClusterEventWithHint{event}})
		bare(&options)
		s, err := New(t.Context(), options)
		if err != nil {
			t.Fatal(err)
		}
		start(t, s, options)
		synctest.Wait()
		claims := client.CoreV1().PersistentVolumeClaims("default")
		claim := objects.PersistentVolumeClaim("c").Build()
		if _, err := claims.Create(t.Context(), claim, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if _, err := claims.Update(t.Context(), claim, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if err := claims.Delete(t.Context(), "c", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		const claimType = "*v1.PersistentVolumeClaim"
		want := []string{"<nil> " + claimType, claimType + " " + claimType, claimType + " <nil>"}
		if diff := cmp.Diff(want, seen); diff != "" {
			t.Errorf("objects that the hint saw (-want +got):\n%s", diff)
		}
	})
}

func TestHandlersThatDoNotSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixtureWith(t, bare) // its informers are not started
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := f.WaitForHandlersSync(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v, want %v", err, context.DeadlineExceeded)
		}
	})
}

func TestEverythingThatExistedIsKnownBeforeScheduling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(objects.Node("n1").Capacity("cpu", "4", "memory", "8Gi").Build(), objects.Node("n2").Capacity("cpu", "4", "memory", "8Gi").Build())
		managed := metav1.ManagedFieldsEntry{Manager: "another", Operation: "Update"}
		for _, pod := range []*v1.Pod{objects.Pod("waiting").Requests("cpu", "1").Build(), objects.Pod("placed").Requests("cpu", "1").Node("n1").Build()} {
			pod.ManagedFields = []metav1.ManagedFieldsEntry{managed}
			if err := client.Tracker().Add(pod); err != nil {
				t.Fatal(err)
			}
		}
		factory := NewInformerFactory(client)
		s, err := New(t.Context(), Options{Client: client, Informers: factory})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		factory.Start(ctx.Done())
		if err := s.WaitForHandlersSync(ctx); err != nil {
			t.Fatal(err)
		}
		counts := s.Cache().Counts()
		if counts.Nodes != 2 || counts.Pods != 1 || s.Queue().Stats().Active != 1 {
			t.Errorf("%d nodes and %d pods are cached, %d queued; want 2, 1 and 1", counts.Nodes, counts.Pods, s.Queue().Stats().Active)
		}
		pods, err := s.pods.List(labels.Everything())
		if err != nil || len(pods) != 2 {
			t.Fatalf("%d pods are listed, error %v; want 2", len(pods), err)
		}
		for _, pod := range pods {
			if len(pod.ManagedFields) > 0 {
				t.Errorf("pod %s has managed fields in memory", pod.Name)
			}
		}
		cancel()
		factory.Shutdown()
	})
}

func TestPluginsMayAddIndexes(t *testing.T) {
	f := &fixture{t: t}
	client := fake.NewClientset()
	options := Options{Client: client, Informers: NewInformerFactory(client)}
	options.Registry, options.Configuration = f.with()
	multiPoint := &options.Configuration.Profiles[0].Plugins.MultiPoint
	multiPoint.Enabled = append(multiPoint.Enabled, configv1.Plugin{Name: "Indexing"})
	err := options.Registry.Register("Indexing", func(_ context.Context, _ apiruntime.Object, handle fwk.Handle) (fwk.Plugin, error) {
		byNode := func(object any) ([]string, error) { return []string{object.(*v1.Pod).Spec.NodeName}, nil }
		pods := handle.SharedInformerFactory().Core().V1().Pods().Informer()
		return &scripted{name: "Indexing"}, pods.AddIndexers(clientcache.Indexers{"byNode": byNode})
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(t.Context(), options); err != nil {
		t.Fatal(err)
	}
	pods := options.Informers.Core().V1().Pods().Informer().GetIndexer()
	if err := pods.Add(objects.Pod("a").Requests("cpu", "1").Node("n1").Build()); err != nil {
		t.Fatal(err)
	}
	if found, err := pods.ByIndex("byNode", "n1"); err != nil || len(found) != 1 {
		t.Errorf("found %v, error %v; want the pod", found, err)
	}
}
