// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	applyv1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/restmapper"
	"k8s.io/utils/ptr"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/simulate"
)

const gateDefinition = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: gates.example.com},
  spec: {group: example.com, scope: Namespaced, names: {kind: Gate, plural: gates},
         versions: [{name: v1, served: true, subresources: {status: {}}}]}}`

func gate(name, open string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Gate",
		"metadata": map[string]any{"name": name, "namespace": "default"},
		"spec":     map[string]any{"open": open},
	}}
}

var gates = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "gates"}

// withGates returns a cluster that has the kind Gate.
func withGates(t *testing.T) *simulate.Cluster {
	t.Helper()
	cluster := newCluster(t, simulate.Options{})
	must(t, cluster.Replay(parse(t, gateDefinition)))
	return cluster
}

// next returns the next event of a watch as text: its type, the name of the object and what the test looks at.
func next(t *testing.T, events watch.Interface, look func(metav1.Object) string) string {
	t.Helper()
	event, open := <-events.ResultChan()
	if !open {
		return "closed"
	}
	if event.Type == watch.Error {
		return apierrors.FromObject(event.Object).Error()
	}
	accessor, err := meta.Accessor(event.Object)
	must(t, err)
	return strings.TrimSpace(fmt.Sprintf("%s %s %s", event.Type, accessor.GetName(), look(accessor)))
}

func labelA(o metav1.Object) string { return o.GetLabels()["a"] }

// wantEvents compares the next events of a watch, which may begin with others.
func wantEvents(t *testing.T, events watch.Interface, look func(metav1.Object) string, want ...string) {
	t.Helper()
	for _, wanted := range want {
		if got := next(t, events, look); got != wanted {
			t.Errorf("got event %q, want %q", got, wanted)
		}
	}
}

func TestWatches(t *testing.T) {
	cluster := newCluster(t, simulate.Options{})
	ctx := t.Context()
	client, err := kubernetes.NewForConfig(cluster.KubeConfig())
	must(t, err)
	nodes := client.CoreV1().Nodes()
	must(t, cluster.Create(objects.Node("n1").Build()))
	listed, err := nodes.List(ctx, metav1.ListOptions{})
	must(t, err)
	must(t, cluster.Create(objects.Node("n2").Label("a", "1").Build()))
	start := func(options metav1.ListOptions) watch.Interface {
		events, err := nodes.Watch(ctx, options)
		must(t, err)
		t.Cleanup(events.Stop)
		return events
	}
	fromList := start(metav1.ListOptions{ResourceVersion: listed.ResourceVersion})
	any := start(metav1.ListOptions{})
	labelled := start(metav1.ListOptions{ResourceVersion: listed.ResourceVersion, LabelSelector: "a=1"})
	named := start(metav1.ListOptions{ResourceVersion: listed.ResourceVersion, FieldSelector: "metadata.name=n1"})
	marked := start(metav1.ListOptions{
		SendInitialEvents: ptr.To(true), AllowWatchBookmarks: true, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
	})
	must(t, cluster.Patch(objects.Node("n1").Build(), `{"metadata": {"labels": {"a": "1"}}}`))
	must(t, cluster.Patch(objects.Node("n2").Build(), `{"metadata": {"labels": {"a": "2"}}}`))
	must(t, cluster.Delete(objects.Node("n1").Build()))

	wantEvents(t, fromList, labelA, "ADDED n2 1", "MODIFIED n1 1", "MODIFIED n2 2", "DELETED n1 1")
	wantEvents(t, any, labelA, "ADDED n1", "ADDED n2 1", "MODIFIED n1 1", "MODIFIED n2 2", "DELETED n1 1")
	wantEvents(t, labelled, labelA, "ADDED n2 1", "ADDED n1 1", "DELETED n2 2", "DELETED n1 1")
	wantEvents(t, named, labelA, "MODIFIED n1 1", "DELETED n1 1")
	complete := func(o metav1.Object) string { return o.GetAnnotations()[metav1.InitialEventsAnnotationKey] }
	wantEvents(t, marked, complete, "ADDED n1", "ADDED n2", "BOOKMARK  true", "MODIFIED n1")
	any.Stop()
	if got := next(t, any, labelA); got != "closed" {
		t.Errorf("after the watch was stopped: got event %q", got)
	}
}

// TestWatchesOfThePast has a watch that begins so long ago that the changes since then are forgotten, and one that does not.
func TestWatchesOfThePast(t *testing.T) {
	cluster := newCluster(t, simulate.Options{})
	client, ctx := cluster.Client(), t.Context()
	must(t, cluster.Create(objects.Node("n1").Build()))
	var versions []string
	for i := range 2200 {
		must(t, cluster.Patch(objects.Node("n1").Build(), fmt.Sprintf(`{"metadata": {"labels": {"a": "%d"}}}`, i)))
		versions = append(versions, cluster.Node("n1").ResourceVersion)
	}
	if _, err := client.CoreV1().Nodes().Watch(ctx, metav1.ListOptions{ResourceVersion: versions[0]}); !apierrors.IsResourceExpired(err) {
		t.Errorf("watching from long ago: got error %v, want expired", err)
	}
	events, err := client.CoreV1().Nodes().Watch(ctx, metav1.ListOptions{ResourceVersion: versions[2100]})
	must(t, err)
	defer events.Stop()
	wantEvents(t, events, labelA, "MODIFIED n1 2101", "MODIFIED n1 2102")
}

func TestWatchesEndWithTheirContext(t *testing.T) {
	cluster := newCluster(t, simulate.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	events, err := cluster.Client().CoreV1().Pods("").Watch(ctx, metav1.ListOptions{})
	must(t, err)
	cancel()
	if got := next(t, events, labelA); got != "closed" {
		t.Errorf("got event %q", got)
	}
	events, err = cluster.Client().CoreV1().Pods("").Watch(t.Context(), metav1.ListOptions{})
	must(t, err)
	cluster.Close()
	if got := next(t, events, labelA); got != "closed" {
		t.Errorf("after the cluster was closed: got event %q", got)
	}
}

func TestCustomResourcesThroughClients(t *testing.T) {
	cluster := withGates(t)
	ctx := t.Context()
	client, err := dynamic.NewForConfig(cluster.KubeConfig())
	must(t, err)
	of := client.Resource(gates).Namespace("default")
	events, err := client.Resource(gates).Watch(ctx, metav1.ListOptions{})
	must(t, err)
	defer events.Stop()

	created, err := of.Create(ctx, gate("g", "no"), metav1.CreateOptions{})
	must(t, err)
	if created.GetUID() == "" || created.GetResourceVersion() == "" {
		t.Errorf("the new object has UID %q and version %q", created.GetUID(), created.GetResourceVersion())
	}
	must(t, unstructured.SetNestedField(created.Object, "yes", "spec", "open"))
	must(t, unstructured.SetNestedField(created.Object, "ignored", "status", "phase"))
	updated, err := of.Update(ctx, created, metav1.UpdateOptions{})
	must(t, err)
	must(t, unstructured.SetNestedField(updated.Object, "maybe", "spec", "open"))
	must(t, unstructured.SetNestedField(updated.Object, "Open", "status", "phase"))
	_, err = of.UpdateStatus(ctx, updated, metav1.UpdateOptions{})
	must(t, err)
	_, err = of.Patch(ctx, "g", types.MergePatchType, []byte(`{"metadata": {"labels": {"a": "1"}}}`), metav1.PatchOptions{})
	must(t, err)
	list, err := client.Resource(gates).List(ctx, metav1.ListOptions{LabelSelector: "a=1"})
	must(t, err)
	if len(list.Items) != 1 {
		t.Fatalf("got %d objects, want one", len(list.Items))
	}
	want := map[string]any{"spec": map[string]any{"open": "yes"}, "status": map[string]any{"phase": "Open"}}
	got := map[string]any{"spec": list.Items[0].Object["spec"], "status": list.Items[0].Object["status"]}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the object differs (-want +got):\n%s", diff)
	}
	must(t, of.Delete(ctx, "g", metav1.DeleteOptions{}))
	if _, err := of.Get(ctx, "g", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("got error %v, want not found", err)
	}
	if _, err := client.Resource(gates.GroupVersion().WithResource("doors")).Namespace("default").Get(ctx, "d", metav1.GetOptions{}); !apierrors.IsNotFound(err) ||
		!strings.Contains(err.Error(), "CustomResourceDefinition") {
		t.Errorf("a kind that there is not: got error %v, want not found", err)
	}
	must(t, cluster.Settle())
	wantEvents(t, events, labelA, "ADDED g", "MODIFIED g", "MODIFIED g", "MODIFIED g 1", "DELETED g 1")
}

func TestDiscovery(t *testing.T) {
	client, err := discovery.NewDiscoveryClientForConfig(withGates(t).KubeConfig())
	must(t, err)
	found, err := restmapper.GetAPIGroupResources(client)
	must(t, err)
	mapper := restmapper.NewDiscoveryRESTMapper(found)
	for kind, want := range map[schema.GroupKind]string{
		{Kind: "Pod"}:                                  "/v1, Resource=pods namespace",
		{Kind: "Node"}:                                 "/v1, Resource=nodes root",
		{Kind: "ReplicaSet", Group: "apps"}:            "apps/v1, Resource=replicasets namespace",
		{Kind: "Gate", Group: "example.com"}:           "example.com/v1, Resource=gates namespace",
		{Kind: "PodDisruptionBudget", Group: "policy"}: "policy/v1, Resource=poddisruptionbudgets namespace",
	} {
		mapping, err := mapper.RESTMapping(kind)
		must(t, err)
		if got := mapping.Resource.String() + " " + string(mapping.Scope.Name()); got != want {
			t.Errorf("%v: got %s, want %s", kind, got, want)
		}
	}
	if version, err := client.ServerVersion(); err != nil || version.GoVersion == "" {
		t.Errorf("got version %v (%v)", version, err)
	}
	if _, err := client.ServerResourcesForGroupVersion("example.com/v2"); !apierrors.IsNotFound(err) {
		t.Errorf("a version that there is not: got error %v, want not found", err)
	}
}

func TestMetadataClients(t *testing.T) {
	cluster := withGates(t)
	ctx := t.Context()
	client, err := metadata.NewForConfig(cluster.KubeConfig())
	must(t, err)
	must(t, cluster.Create(gate("g", "no"), objects.Pod("a").Label("app", "web").Build()))
	for resource, want := range map[schema.GroupVersionResource]string{gates: "g", v1.SchemeGroupVersion.WithResource("pods"): "a"} {
		list, err := client.Resource(resource).List(ctx, metav1.ListOptions{})
		must(t, err)
		one, err := client.Resource(resource).Namespace("default").Get(ctx, want, metav1.GetOptions{})
		must(t, err)
		if len(list.Items) != 1 || list.Items[0].Name != want || list.Items[0].UID != one.UID || one.UID == "" {
			t.Errorf("got %v and %v, want %s", list.Items, one, want)
		}
		events, err := client.Resource(resource).Watch(ctx, metav1.ListOptions{})
		must(t, err)
		wantEvents(t, events, labelA, "ADDED "+want)
		events.Stop()
	}
}

func TestServerSideApply(t *testing.T) {
	cluster := newCluster(t, simulate.Options{})
	ctx, maps := t.Context(), cluster.Client().CoreV1().ConfigMaps("shop")
	apply := func(key string) {
		t.Helper()
		_, err := maps.Apply(ctx, applyv1.ConfigMap("m", "shop").WithData(map[string]string{key: "1"}), metav1.ApplyOptions{FieldManager: "test"})
		must(t, err)
	}
	apply("a")
	apply("b")
	got, err := maps.Get(ctx, "m", metav1.GetOptions{})
	must(t, err)
	if diff := cmp.Diff(map[string]string{"a": "1", "b": "1"}, got.Data); diff != "" {
		t.Errorf("data differs (-want +got):\n%s", diff)
	}
}

// TestBadRequests are refused, and tell why.
func TestBadRequests(t *testing.T) {
	cluster := withGates(t)
	ctx := t.Context()
	client := cluster.Client().CoreV1().RESTClient()
	must(t, cluster.Create(objects.Pod("a").Build()))
	for name, test := range map[string]struct {
		do   func() error
		want string
	}{
		"label selector": {
			func() error { return client.Get().Resource("pods").Param("labelSelector", "a=(").Do(ctx).Error() }, "label selector",
		},
		"field selector": {
			func() error { return client.Get().Resource("pods").Param("fieldSelector", "a>b").Do(ctx).Error() }, "field selector",
		},
		"resource version": {
			func() error {
				return client.Get().Resource("pods").Param("watch", "1").Param("resourceVersion", "x").Do(ctx).Error()
			}, "resource version",
		},
		"another kind": {
			func() error {
				return client.Post().Resource("pods").Namespace("default").Body(objects.Node("n").Build()).Do(ctx).Error()
			}, "but must have one of /v1, Kind=Pod",
		},
		"no JSON": {
			func() error {
				return client.Post().Resource("pods").Namespace("default").SetHeader("Content-Type", "application/json").Body([]byte("{")).Do(ctx).Error()
			}, "reading the object",
		},
		"unknown media type": {
			func() error {
				return client.Post().Resource("pods").Namespace("default").SetHeader("Content-Type", "text/html").Body([]byte("{}")).Do(ctx).Error()
			}, "media type",
		},
		"another name": {
			func() error {
				return client.Put().Resource("pods").Namespace("default").Name("b").Body(objects.Pod("a").Build()).Do(ctx).Error()
			}, "not the one that its URL names",
		},
		"another namespace": {
			func() error {
				return client.Post().Resource("pods").Namespace("shop").Body(objects.Pod("b").Build()).Do(ctx).Error()
			}, "not the one of the request",
		},
		"unknown path": {func() error { return client.Get().AbsPath("/metrics").Do(ctx).Error() }, "could not find the requested resource"},
		"subresource": {
			func() error {
				return client.Get().Resource("pods").Namespace("default").Name("a").SubResource("log").Do(ctx).Error()
			}, "get of log",
		},
		"old object": {
			func() error {
				old := metav1.Preconditions{ResourceVersion: ptr.To("1")}
				return cluster.Client().CoreV1().Pods("default").Delete(ctx, "a", metav1.DeleteOptions{Preconditions: &old})
			}, "the resource version is",
		},
	} {
		if err := test.do(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got error %v, want one with %q", name, err, test.want)
		}
	}
}

// TestClientsReceiveCopies has a client change what it received.
func TestClientsReceiveCopies(t *testing.T) {
	cluster := newCluster(t, simulate.Options{})
	ctx := t.Context()
	must(t, cluster.Create(objects.Pod("a").Label("app", "web").Build()))
	first, err := cluster.Client().CoreV1().Pods("default").Get(ctx, "a", metav1.GetOptions{})
	must(t, err)
	first.Labels["app"] = "changed"
	second, err := cluster.Client().CoreV1().Pods("default").Get(ctx, "a", metav1.GetOptions{})
	must(t, err)
	if second.Labels["app"] != "web" || !slices.Equal([]string{second.Kind, second.APIVersion}, []string{"", ""}) && second.Kind != "Pod" {
		t.Errorf("got labels %v and kind %q", second.Labels, second.Kind)
	}
}
