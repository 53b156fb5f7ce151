// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package whatif_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	clientcache "k8s.io/client-go/tools/cache"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugins"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/profiles"
	"github.com/rouse-scheduler/rouse/whatif"
)

var quotas = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "quotas"}

// quota is a custom object that says on which node pods may be.
func quota(node string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Quota", "metadata": map[string]any{"name": "q", "namespace": "default"},
		"spec": map[string]any{"node": node},
	}}
}

func quotaDefinition() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "quotas.example.com"},
		"spec": map[string]any{
			"group": "example.com", "scope": "Namespaced", "names": map[string]any{"kind": "Quota", "plural": "quotas"},
			"versions": []any{map[string]any{"name": "v1"}},
		},
	}}
}

// quotaPlugin rejects nodes other than the one of the quota, which it reads by a client of its own. It knows nothing of forks.
type quotaPlugin struct {
	read func(ctx context.Context) (node string, err error)
}

func (*quotaPlugin) Name() string { return "Quota" }

func (p *quotaPlugin) Filter(ctx context.Context, _ fwk.CycleState, _ *v1.Pod, node fwk.NodeInfo) *fwk.Status {
	allowed, err := p.read(ctx)
	if err != nil {
		return fwk.AsStatus(err)
	}
	if allowed != node.Node().Name {
		return fwk.NewStatus(fwk.Unschedulable, "no quota here")
	}
	return nil
}

func nodeOf(stored any, exists bool, err error) (string, error) {
	switch stored := stored.(type) {
	case *unstructured.Unstructured:
		node, _, err := unstructured.NestedString(stored.Object, "spec", "node")
		return node, err
	case *v1.ConfigMap:
		return stored.Data["node"], nil
	}
	return "", err
}

// readers are the ways in which plugins read by clients of their own.
func readers() map[string]func(context.Context, fwk.Handle) (func(context.Context) (string, error), error) {
	return map[string]func(context.Context, fwk.Handle) (func(context.Context) (string, error), error){
		"dynamic client": func(_ context.Context, handle fwk.Handle) (func(context.Context) (string, error), error) {
			client, err := dynamic.NewForConfig(handle.KubeConfig())
			return func(ctx context.Context) (string, error) {
				found, err := client.Resource(quotas).Namespace("default").Get(ctx, "q", metav1.GetOptions{})
				return nodeOf(found, true, err)
			}, err
		},
		"dynamic informer": func(ctx context.Context, handle fwk.Handle) (func(context.Context) (string, error), error) {
			client, err := dynamic.NewForConfig(handle.KubeConfig())
			if err != nil {
				return nil, err
			}
			factory := dynamicinformer.NewDynamicSharedInformerFactory(client, 0)
			informer := factory.ForResource(quotas).Informer()
			factory.Start(ctx.Done())
			factory.WaitForCacheSync(ctx.Done())
			return func(context.Context) (string, error) { return nodeOf(informer.GetStore().GetByKey("default/q")) }, nil
		},
		// What the handler keeps, it keeps in the goroutine of the informer; and nobody waits until it has synchronized.
		"handler": func(ctx context.Context, handle fwk.Handle) (func(context.Context) (string, error), error) {
			client, err := dynamic.NewForConfig(handle.KubeConfig())
			if err != nil {
				return nil, err
			}
			factory := dynamicinformer.NewDynamicSharedInformerFactory(client, 0)
			store := clientcache.NewStore(clientcache.MetaNamespaceKeyFunc)
			_, err = factory.ForResource(quotas).Informer().AddEventHandler(clientcache.ResourceEventHandlerFuncs{
				AddFunc: func(o any) { _ = store.Add(o) }, UpdateFunc: func(_, o any) { _ = store.Update(o) }, DeleteFunc: func(o any) { _ = store.Delete(o) },
			})
			factory.Start(ctx.Done())
			return func(context.Context) (string, error) { return nodeOf(store.GetByKey("default/q")) }, err
		},
		"typed informer": func(ctx context.Context, handle fwk.Handle) (func(context.Context) (string, error), error) {
			client, err := kubernetes.NewForConfig(handle.KubeConfig())
			if err != nil {
				return nil, err
			}
			factory := informers.NewSharedInformerFactory(client, 0)
			informer := factory.Core().V1().ConfigMaps().Informer()
			factory.Start(ctx.Done())
			factory.WaitForCacheSync(ctx.Done())
			return func(context.Context) (string, error) { return nodeOf(informer.GetStore().GetByKey("default/q")) }, nil
		},
	}
}

// withQuota are options with the plugin in the default profile.
func withQuota(t testing.TB, reader func(context.Context, fwk.Handle) (func(context.Context) (string, error), error), objects ...apiruntime.Object) whatif.Options {
	t.Helper()
	registry := plugins.NewInTreeRegistry()
	must(t, registry.Register("Quota", func(ctx context.Context, _ apiruntime.Object, handle fwk.Handle) (fwk.Plugin, error) {
		read, err := reader(ctx, handle)
		return &quotaPlugin{read: read}, err
	}))
	configuration := profiles.Default()
	enabled := &configuration.Profiles[0].Plugins.MultiPoint.Enabled
	*enabled = append(*enabled, configv1.Plugin{Name: "Quota"})
	return whatif.Options{Configuration: configuration, Registry: registry, Objects: objects, Concurrency: 2}
}

// TestPluginsWithClientsOfTheirOwn asks, concurrently, in forks that differ in a custom object that a plugin reads by a client or an
// informer of its own.
func TestPluginsWithClientsOfTheirOwn(t *testing.T) {
	for name, reader := range readers() {
		t.Run(name, func(t *testing.T) {
			written := func(node string) apiruntime.Object { return quota(node) }
			if strings.HasPrefix(name, "typed") {
				written = func(node string) apiruntime.Object {
					return &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "q", Namespace: "default"}, Data: map[string]string{"node": node}}
				}
			}
			cluster := newCluster(t, withQuota(t, reader, append(twoNodes(), quotaDefinition(), written("a"))...))
			var group sync.WaitGroup
			for worker := range 4 {
				group.Go(func() {
					for i := range 10 {
						fork, want := cluster.Fork(), "a"
						switch (worker + i) % 3 {
						case 1:
							want = "b"
							must(t, fork.Update(written("b")))
						case 2:
							want = ""
							must(t, fork.Remove(written("")))
							if name == "dynamic client" {
								want = "error"
							}
						}
						pod := objects.Pod(fmt.Sprint("web-", worker, "-", i)).Requests("cpu", "1").Build()
						fit, err := fork.Fits(t.Context(), pod)
						got := "error"
						if err == nil {
							got = strings.Join(fit.Nodes, " ")
						}
						if got != want {
							t.Errorf("got nodes %q (error %v), want %q", got, err, want)
						}
					}
				})
			}
			group.Wait()
		})
	}
}

// A kind of which nothing was known when the plugin was built is served as soon as a fork has an object of it.
func TestCustomKindOfLater(t *testing.T) {
	cluster := newCluster(t, withQuota(t, readers()["handler"], twoNodes()...))
	pod := objects.Pod("web").Requests("cpu", "1").Build()
	if got := nodesFor(t, cluster, pod); got != "" {
		t.Errorf("without a quota nodes %q take the pod", got)
	}
	fork := cluster.Fork()
	must(t, fork.Add(quota("b")))
	for range 2 {
		for of, want := range map[*whatif.Cluster]string{cluster: "", fork: "b"} {
			if got := nodesFor(t, of, pod); got != want {
				t.Errorf("got nodes %q, want %q", got, want)
			}
		}
	}
}

// Objects of a namespaced custom kind without a namespace are in the default one, as the definition says.
func TestCustomObjectsHaveANamespace(t *testing.T) {
	written := quota("b")
	written.SetNamespace("")
	cluster := newCluster(t, withQuota(t, readers()["dynamic informer"], append(twoNodes(), written, quotaDefinition())...))
	if got := nodesFor(t, cluster, objects.Pod("web").Requests("cpu", "1").Build()); got != "b" {
		t.Errorf("got nodes %q, want b", got)
	}
	if cluster.Get(quota("")) == nil {
		t.Error("the object is not in the namespace default")
	}
}
