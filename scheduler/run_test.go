// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic/dynamicinformer"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugins"
	"github.com/rouse-scheduler/rouse/profiles"
)

// bindInTracker makes a fake clientset put pods on nodes when they are bound, as the API server does.
func bindInTracker(client *fake.Clientset) {
	client.PrependReactor("create", "pods", func(action clienttesting.Action) (bool, apiruntime.Object, error) {
		if action.GetSubresource() != "binding" {
			return false, nil, nil
		}
		binding := action.(clienttesting.CreateAction).GetObject().(*v1.Binding)
		pods := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
		object, err := client.Tracker().Get(pods, action.GetNamespace(), binding.Name)
		if err != nil {
			return true, nil, err
		}
		pod := object.(*v1.Pod).DeepCopy()
		pod.Spec.NodeName = binding.Target.Name
		return true, binding, client.Tracker().Update(pods, pod, pod.Namespace)
	})
}

// start runs a scheduler against a fake API until the test ends, with everything that existed before seen.
func start(t *testing.T, s *Scheduler, options Options) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	options.Informers.Start(ctx.Done())
	if options.DynamicInformers != nil {
		options.DynamicInformers.Start(ctx.Done())
	}
	limited, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	if err := s.WaitForHandlersSync(limited); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run returned %v", err)
		}
		options.Informers.Shutdown()
		if options.DynamicInformers != nil {
			options.DynamicInformers.Shutdown()
		}
	})
}

// waitForNode returns the node of a pod once it has one.
func waitForNode(t *testing.T, client *fake.Clientset, name string) string {
	t.Helper()
	var node string
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		pod, err := client.CoreV1().Pods("default").Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		node = pod.Spec.NodeName
		return node != "", nil
	})
	if err != nil {
		t.Fatalf("pod %s got no node: %v", name, err)
	}
	return node
}

func TestRunAgainstInformers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(makeNode("n1", "4"), makeNode("n2", "4"))
		bindInTracker(client)
		for i := range 6 {
			_ = client.Tracker().Add(makePod(fmt.Sprintf("early-%d", i), "1"))
		}
		options := Options{Client: client, Informers: NewInformerFactory(client)}
		s, err := New(t.Context(), options)
		if err != nil {
			t.Fatal(err)
		}
		start(t, s, options)
		for i := range 6 {
			waitForNode(t, client, fmt.Sprintf("early-%d", i))
		}
		// Two of eight cores are free, on one node or on both: a pod that wants three has to wait for a new node.
		if _, err := client.CoreV1().Pods("default").Create(t.Context(), makePod("late", "3"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if _, err := client.CoreV1().Nodes().Create(t.Context(), makeNode("n3", "4"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if got := waitForNode(t, client, "late"); got != "n3" {
			t.Errorf("late is on %s, want n3", got)
		}
		for _, action := range client.Actions() {
			if list, ok := action.(clienttesting.ListAction); ok && action.Matches("list", "pods") {
				const want = "status.phase!=Failed,status.phase!=Succeeded"
				if got := list.GetListRestrictions().Fields.String(); got != want {
					t.Errorf("pods are listed with the field selector %q, want %q", got, want)
				}
			}
		}
	})
}

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
		client := fake.NewClientset(makeNode("n1", "4"), makePod("a", "1"))
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
	client := fake.NewClientset()
	factory := NewInformerFactory(client)
	s, err := New(t.Context(), Options{Client: client, Informers: factory})
	if err != nil {
		t.Fatal(err)
	}
	// Pods and nodes always, and DeviceClasses, for which NodeResourcesFit waits.
	if got := len(s.handlers); got != 3 {
		t.Errorf("%d kinds are watched, want 3", got)
	}
}

func TestWrongOptionsAreRefused(t *testing.T) {
	client := fake.NewClientset()
	broken := profiles.Default()
	broken.Profiles[0].Plugins.MultiPoint.Enabled = nil
	tests := map[string]Options{
		"no client":    {Informers: NewInformerFactory(client)},
		"no informers": {Client: client},
		"no plugins":   {Client: client, Informers: NewInformerFactory(client), Configuration: broken},
		"no such plugin": {
			Client: client, Informers: NewInformerFactory(client), Configuration: profiles.Default(),
			Registry: plugins.NewInTreeRegistry(),
		},
	}
	delete(tests["no such plugin"].Registry, "NodeAffinity")
	for name, options := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := New(t.Context(), options); err == nil {
				t.Error("New succeeded, want an error")
			}
		})
	}
}
