// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"
	clientcache "k8s.io/client-go/tools/cache"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/simulate"
)

// gateReader returns what a gate says, read by a client of the plugin's own.
type gateReader func(pod *v1.Pod) (open string, err error)

// gatekeeper rejects pods until a gate is open. It waits for an event of the given resource.
func gatekeeper(t *testing.T, resource fwk.EventResource, reader func(fwk.Handle) gateReader) func(fwk.Handle) fwk.Plugin {
	return func(handle fwk.Handle) fwk.Plugin {
		read := reader(handle)
		return &filterPlugin{
			events: []fwk.ClusterEventWithHint{{Event: fwk.ClusterEvent{Resource: resource, ActionType: fwk.Add | fwk.Update}}},
			filter: func(pod *v1.Pod) *fwk.Status {
				open, err := read(pod)
				if err != nil {
					t.Errorf("reading the gate: %v", err)
				}
				if open != "yes" {
					return fwk.NewStatus(fwk.Unschedulable, "the gate is shut")
				}
				return nil
			},
		}
	}
}

// openOf returns what the gate says that an informer's store has.
func openOf(store clientcache.Store) gateReader {
	return func(*v1.Pod) (string, error) {
		found, exists, err := store.GetByKey("default/g")
		if err != nil || !exists {
			return "", err
		}
		switch gate := found.(type) {
		case *v1.ConfigMap:
			return gate.Data["open"], nil
		case *unstructured.Unstructured:
			open, _, err := unstructured.NestedString(gate.Object, "spec", "open")
			return open, err
		}
		return "", fmt.Errorf("the store has a %T", found)
	}
}

// ownClients are the ways in which plugins read by clients of their own.
func ownClients(t *testing.T) map[string]func(fwk.Handle) gateReader {
	synced := func(wait func(<-chan struct{}, ...clientcache.InformerSynced) bool, informer clientcache.SharedIndexInformer) {
		if !wait(t.Context().Done(), informer.HasSynced) {
			t.Error("the informer of the plugin did not come up to date")
		}
	}
	return map[string]func(fwk.Handle) gateReader{
		"typed client": func(handle fwk.Handle) gateReader {
			client, err := kubernetes.NewForConfig(handle.KubeConfig())
			return func(pod *v1.Pod) (string, error) {
				if err != nil {
					return "", err
				}
				gate, err := client.CoreV1().ConfigMaps(pod.Namespace).Get(t.Context(), "g", metav1.GetOptions{})
				if err != nil {
					return "", err
				}
				return gate.Data["open"], nil
			}
		},
		"typed informer": func(handle fwk.Handle) gateReader {
			client, err := kubernetes.NewForConfig(handle.KubeConfig())
			must(t, err)
			factory := informers.NewSharedInformerFactory(client, 0)
			informer := factory.Core().V1().ConfigMaps().Informer()
			factory.Start(t.Context().Done())
			synced(clientcache.WaitForCacheSync, informer)
			return openOf(informer.GetStore())
		},
		"dynamic informer": func(handle fwk.Handle) gateReader {
			client, err := dynamic.NewForConfig(handle.KubeConfig())
			must(t, err)
			factory := dynamicinformer.NewDynamicSharedInformerFactory(client, 0)
			informer := factory.ForResource(gates).Informer()
			factory.Start(t.Context().Done())
			synced(clientcache.WaitForCacheSync, informer)
			return openOf(informer.GetStore())
		},
		// The plugin keeps what the handler of its informer is told, in the goroutine of the informer.
		"handler": func(handle fwk.Handle) gateReader {
			client, err := dynamic.NewForConfig(handle.KubeConfig())
			must(t, err)
			factory := dynamicinformer.NewDynamicSharedInformerFactory(client, 0)
			informer := factory.ForResource(gates).Informer()
			store := clientcache.NewStore(clientcache.MetaNamespaceKeyFunc)
			_, err = informer.AddEventHandler(clientcache.ResourceEventHandlerFuncs{
				AddFunc: func(o any) { err = errors.Join(err, store.Add(o)) }, UpdateFunc: func(_, o any) { err = errors.Join(err, store.Update(o)) },
			})
			must(t, err)
			factory.Start(t.Context().Done())
			synced(clientcache.WaitForCacheSync, informer)
			return openOf(store)
		},
	}
}

// TestPluginsWithClientsOfTheirOwn has plugins that make clients and informers from the configuration in their handle. What they
// know is up to date when an event wakes a pod, so that two attempts are enough. Those that read a kind whose events the
// scheduler does not announce are woken by another event.
func TestPluginsWithClientsOfTheirOwn(t *testing.T) {
	const (
		configMap = "{apiVersion: v1, kind: ConfigMap, metadata: {name: g, namespace: default}, data: {open: '%s'}}"
		custom    = "{apiVersion: example.com/v1, kind: Gate, metadata: {name: g}, spec: {open: '%s'}}"
	)
	for name, reader := range ownClients(t) {
		t.Run(name, func(t *testing.T) {
			resource, gate := fwk.EventResource("gates.v1.example.com"), custom
			if strings.HasPrefix(name, "typed") {
				resource, gate = fwk.Node, configMap
			}
			input := documents(gateDefinition, fmt.Sprintf(gate, "no"), node("n1", ""), node("n2", ""), pod("a", "1", ""), pod("b", "1", ""), scenario(
				"{expect: {pods: [{name: a, pool: unschedulable}]}}",
				"{at: 10s, patch: "+fmt.Sprintf(gate, "yes")+"}",
				"{patch: {apiVersion: v1, kind: Node, metadata: {name: n1, labels: {a: b}}}}",
				"{expect: {pods: [{name: a, pool: bound}, {name: b, pool: bound}]}}",
			))
			report := run(t, input, withPlugin(t, "Test", gatekeeper(t, resource, reader)))
			wantNoFailures(t, report)
			if len(report.Warnings) > 0 {
				t.Errorf("warnings: %q", report.Warnings)
			}
			for _, state := range report.Pods {
				if state.Attempts != 2 {
					t.Errorf("pod %s was tried %d times, want 2", state.Name, state.Attempts)
				}
			}
		})
	}
}

// TestInformerOfUnknownKind has a plugin that waits in its factory for a kind of which the cluster knows nothing yet: neither a
// definition nor an object. On a cluster that is only looked at there never is one.
func TestInformerOfUnknownKind(t *testing.T) {
	start := func(config *restclient.Config) clientcache.SharedIndexInformer {
		client, err := dynamic.NewForConfig(config)
		must(t, err)
		factory := dynamicinformer.NewDynamicSharedInformerFactory(client, 0)
		informer := factory.ForResource(gates).Informer()
		factory.Start(t.Context().Done())
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		if !clientcache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
			t.Error("the informer of the plugin did not come up to date")
		}
		return informer
	}
	gate := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Gate", "metadata": map[string]any{"name": "g", "namespace": "default"}, "spec": map[string]any{"open": "yes"},
	}}
	cluster, err := simulate.NewCluster(t.Context(), withPlugin(t, "Test", gatekeeper(t, "gates.v1.example.com", func(handle fwk.Handle) gateReader {
		return openOf(start(handle.KubeConfig()).GetStore())
	})))
	must(t, err)
	defer cluster.Close()
	must(t, cluster.Create(objects.Node("n1").Build(), objects.Pod("a").Build()))
	must(t, cluster.Settle())
	must(t, cluster.Create(gate))
	must(t, cluster.Settle())
	if state, _ := cluster.Pod("default", "a"); state.Pool != simulate.PoolBound || state.Attempts != 2 {
		t.Errorf("got %+v, want the pod to be bound in its second attempt", state)
	}

	clients, err := simulate.NewEmptyClients(nil)
	must(t, err)
	if found := start(clients.KubeConfig).GetStore().ListKeys(); len(found) != 0 {
		t.Errorf("an empty cluster has %q", found)
	}
}
