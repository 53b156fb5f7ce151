// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"
)

// TestKindsAreInNamespacesAsClientsHaveThem asks the typed clients, which take a namespace for the kinds that are in one.
func TestKindsAreInNamespacesAsClientsHaveThem(t *testing.T) {
	clients, err := kubernetes.NewForConfig(&restclient.Config{Host: "http://cluster.invalid"})
	if err != nil {
		t.Fatal(err)
	}
	table, compared := newKindTable(), 0
	value := reflect.ValueOf(clients)
	for i := range value.NumMethod() {
		method := value.Method(i)
		if method.Type().NumIn() != 0 || method.Type().NumOut() != 1 {
			continue
		}
		group := method.Call(nil)[0]
		client, ok := group.Interface().(interface{ RESTClient() restclient.Interface })
		if !ok {
			continue
		}
		for j := range group.NumMethod() {
			resource := client.RESTClient().APIVersion().WithResource(strings.ToLower(group.Type().Method(j).Name))
			k := table.byResource[resource]
			if k == nil {
				continue
			}
			compared++
			if want := group.Method(j).Type().NumIn() == 1; k.namespaced != want {
				t.Errorf("%v: namespaced is %v, want %v", k.GroupVersionKind, k.namespaced, want)
			}
		}
	}
	if compared < 50 {
		t.Errorf("only %d kinds were compared", compared)
	}
}

// TestKubectlResourcesHasEveryKind expands the short names that kubectl has for resources.
func TestKubectlResourcesHasEveryKind(t *testing.T) {
	short := map[string]string{
		"ns": "namespaces", "pv": "persistentvolumes", "pvc": "persistentvolumeclaims", "sc": "storageclasses", "svc": "services",
		"rc": "replicationcontrollers", "rs": "replicasets", "sts": "statefulsets", "pdb": "poddisruptionbudgets", "pc": "priorityclasses",
	}
	var got, want []string
	for _, name := range strings.Split(KubectlResources, ",") {
		if long, ok := short[name]; ok {
			name = long
		}
		got = append(got, name)
	}
	for _, k := range newKindTable().sorted() {
		if k.scheduling {
			want = append(want, k.resource.Resource)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("resources differ from the kinds that scheduling reads (-want +got):\n%s", diff)
	}
}

// TestEveryNamespacedKindHasADefaultNamespace has a plugin look at objects that were written without one.
func TestEveryNamespacedKindHasADefaultNamespace(t *testing.T) {
	definition := func(scope string) string {
		return "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.example.com}, " +
			"spec: {group: example.com, scope: " + scope + ", names: {kind: Widget, plural: widgets}}}"
	}
	widget := "{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}}"
	patch := "{apiVersion: rouse/v1alpha1, kind: Scenario, metadata: {name: s}, spec: {steps: [{at: 5s, patch: {apiVersion: example.com/v1, kind: Widget, metadata: {name: w, labels: {a: b}}}}]}}"
	tests := map[string]struct {
		input    string
		resource schema.GroupVersionResource
		want     []string
	}{
		"of Kubernetes, without a part in scheduling": {
			input:    "{apiVersion: v1, kind: ConfigMap, metadata: {name: w}}",
			resource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"},
			want:     []string{"default/w"},
		},
		"of Kubernetes, in no namespace": {
			input:    "{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: w}, handler: h}",
			resource: schema.GroupVersionResource{Group: "node.k8s.io", Version: "v1", Resource: "runtimeclasses"},
			want:     []string{"w"},
		},
		"custom, defined as namespaced": {
			input: widget + "\n---\n" + definition("Namespaced") + "\n---\n" + patch, resource: widgets(), want: []string{"default/w"},
		},
		"custom, defined for the cluster": {
			input: widget + "\n---\n" + definition("Cluster") + "\n---\n" + patch, resource: widgets(), want: []string{"w"},
		},
		"custom, with another in a namespace": {
			input:    widget + "\n---\n{apiVersion: example.com/v1, kind: Widget, metadata: {name: v, namespace: shop}}\n---\n" + patch,
			resource: widgets(), want: []string{"default/w", "shop/v"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cluster, err := NewCluster(t.Context(), Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer cluster.Close()
			lister := cluster.dynamic.ForResource(test.resource).Lister()
			input, err := Parse("input.yaml", []byte(test.input))
			if err == nil {
				err = cluster.Replay(input)
			}
			if err != nil {
				t.Fatal(err)
			}
			found, err := lister.List(labels.Everything())
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, o := range found {
				accessor, err := meta.Accessor(o)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, strings.TrimPrefix(accessor.GetNamespace()+"/"+accessor.GetName(), "/"))
			}
			slices.Sort(got)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("objects differ (-want +got):\n%s", diff)
			}
		})
	}
}

func widgets() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}
}
