// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/simulate"
)

func newCluster(t *testing.T, options simulate.Options) *simulate.Cluster {
	t.Helper()
	cluster, err := simulate.NewCluster(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	return cluster
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// newNode is a node that leaves what it offers to the default, which is its capacity.
func newNode(name, cpu string) *v1.Node {
	return objects.Node(name).Capacity("cpu", cpu).With(func(node *v1.Node) { node.Status.Allocatable = nil }).Build()
}

// newPod is a pod in the namespace shop that is limited to some CPU, and thus asks for it.
func newPod(name, cpu string) *v1.Pod {
	pod := objects.Pod(name).Namespace("shop").Label("app", name).ContainerPort(v1.ContainerPort{ContainerPort: 80}).Build()
	pod.Spec.Containers[0].Resources.Limits = objects.Resources("cpu", cpu)
	pod.UID = "" // Create gives it one
	return pod
}

func stored(t *testing.T, client clientset.Interface, name string) *v1.Pod {
	t.Helper()
	pod, err := client.CoreV1().Pods("shop").Get(context.Background(), name, metav1.GetOptions{})
	must(t, err)
	return pod
}

func TestClusterStepByStep(t *testing.T) {
	cluster := newCluster(t, simulate.Options{Trace: true})
	pod := newPod("a", "2")
	must(t, cluster.Create(newNode("n1", "1"), pod))
	if state, found := cluster.Pod("shop", "a"); !found || state.Pool != simulate.PoolActive || state.Attempts != 0 {
		t.Errorf("before time is given to the scheduler: got %+v, want the pod active", state)
	}
	must(t, cluster.Settle())
	if state, _ := cluster.Pod("shop", "a"); state.Pool != simulate.PoolUnschedulable {
		t.Errorf("got %+v, want the pod unschedulable", state)
	}
	must(t, cluster.Advance(time.Minute))
	must(t, cluster.Patch(newNode("n1", "1"), `{"status": {"allocatable": {"cpu": "3"}}}`))
	must(t, cluster.Advance(0))
	state, _ := cluster.Pod("shop", "a")
	want := simulate.PodState{
		Namespace: "shop", Name: "a", Node: "n1", Pool: simulate.PoolBound, Attempts: 2, RejectedBy: []string{},
		BoundAt: "1m0s", WokenBy: "NodeUpdateNodeAllocatable",
	}
	if diff := cmp.Diff(want, state); diff != "" {
		t.Errorf("the pod differs (-want +got):\n%s", diff)
	}
	if pod.Spec.NodeName != "" || pod.UID != "" || pod.Spec.Containers[0].Resources.Requests != nil {
		t.Error("the object given to Create was changed")
	}
	must(t, cluster.Delete(pod))
	if state, _ := cluster.Pod("shop", "a"); state.Pool != simulate.PoolDeleted {
		t.Errorf("got %+v, want the pod deleted", state)
	}
	if _, found := cluster.Pod("shop", "b"); found {
		t.Error("a pod was found that never existed")
	}
	if cluster.Now() != simulate.Time(time.Minute) || len(cluster.Trace()) == 0 {
		t.Errorf("it is %v with %d trace entries, want 1m0s and some", cluster.Now(), len(cluster.Trace()))
	}
	if cluster.Node("n1") == nil || cluster.Node("n2") != nil {
		t.Error("Node does not tell which nodes there are")
	}
}

func TestUpdateReplacesAnObject(t *testing.T) {
	cluster := newCluster(t, simulate.Options{})
	must(t, cluster.Create(newNode("n1", "1"), newPod("a", "2")))
	must(t, cluster.Settle())
	node := newNode("n1", "1")
	node.Status.Allocatable = objects.Resources("cpu", "2", "pods", "110")
	must(t, cluster.Update(node))
	must(t, cluster.Settle())
	if state, _ := cluster.Pod("shop", "a"); state.Node != "n1" {
		t.Errorf("got %+v, want the pod on n1", state)
	}
	node.ResourceVersion = "1000000"
	if err := cluster.Update(node); !apierrors.IsConflict(err) {
		t.Errorf("updating another version: got error %v, want a conflict", err)
	}
	if err := cluster.Update(newNode("n2", "1")); !apierrors.IsNotFound(err) {
		t.Errorf("updating what does not exist: got error %v, want not found", err)
	}
	if err := cluster.Create(newNode("n1", "1")); !apierrors.IsAlreadyExists(err) {
		t.Errorf("creating what exists: got error %v, want already exists", err)
	}
}

func TestDefaultsOfNewObjects(t *testing.T) {
	cluster := newCluster(t, simulate.Options{})
	must(t, cluster.Create(
		&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "usual"}, Value: 7, GlobalDefault: true},
		&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 100, PreemptionPolicy: ptr.To(v1.PreemptNever)},
	))
	usual, high, critical, host := newPod("usual", "1"), newPod("high", "1"), newPod("critical", "1"), newPod("host", "1")
	high.Spec.PriorityClassName = "high"
	critical.Spec.PriorityClassName = "system-node-critical"
	host.Spec.HostNetwork = true
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "x"}}
	host.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{
			TopologyKey: "zone", LabelSelector: selector, MatchLabelKeys: []string{"app", "missing"},
		}},
	}}
	must(t, cluster.Create(usual, high, critical, host))
	client := cluster.Client()
	for name, want := range map[string]int32{"usual": 7, "high": 100, "critical": 2_000_001_000} {
		if got := ptr.Deref(stored(t, client, name).Spec.Priority, 0); got != want {
			t.Errorf("pod %s has priority %d, want %d", name, got, want)
		}
	}
	if got := ptr.Deref(stored(t, client, "high").Spec.PreemptionPolicy, ""); got != v1.PreemptNever {
		t.Errorf("got preemption policy %q, want that of the class", got)
	}
	pod := stored(t, client, "host")
	if got := pod.Spec.Containers[0].Resources.Requests.Cpu().String(); got != "1" {
		t.Errorf("the pod requests %s CPUs, want its limit, 1", got)
	}
	if got := pod.Spec.Containers[0].Ports[0]; got.HostPort != 80 || got.Protocol != v1.ProtocolTCP {
		t.Errorf("got port %+v, want TCP and the host port of a pod on the host's network", got)
	}
	wanted := []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpIn, Values: []string{"host"}}}
	term := pod.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0]
	if diff := cmp.Diff(wanted, term.LabelSelector.MatchExpressions); diff != "" {
		t.Errorf("the selector differs (-want +got):\n%s", diff)
	}
	if pod.Spec.SchedulerName != "default-scheduler" || pod.Status.Phase != v1.PodPending || pod.UID == "" {
		t.Errorf("got scheduler %q, phase %q and UID %q, want defaults", pod.Spec.SchedulerName, pod.Status.Phase, pod.UID)
	}
	namespace, err := client.CoreV1().Namespaces().Get(t.Context(), "shop", metav1.GetOptions{})
	if err != nil || namespace.Labels[v1.LabelMetadataName] != "shop" {
		t.Errorf("got namespace %v (%v), want one that came with its pods", namespace, err)
	}
	must(t, cluster.Create(&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: map[string]string{"team": "x"}}}))
	namespace, err = client.CoreV1().Namespaces().Get(t.Context(), "shop", metav1.GetOptions{})
	if err != nil || namespace.Labels["team"] != "x" {
		t.Errorf("got namespace %v (%v), want the one that was created afterwards", namespace, err)
	}
}

func TestRequestsOfClients(t *testing.T) {
	cluster := newCluster(t, simulate.Options{})
	must(t, cluster.Create(newNode("n1", "4"), newPod("a", "1"), newPod("b", "1")))
	must(t, cluster.Settle())
	ctx, client := t.Context(), cluster.Client()
	pods := client.CoreV1().Pods("shop")

	t.Run("bound", func(t *testing.T) {
		pod := stored(t, client, "a")
		if pod.Spec.NodeName != "n1" || len(pod.Status.Conditions) != 1 || pod.Status.Conditions[0].Status != v1.ConditionTrue ||
			pod.Status.StartTime == nil {
			t.Errorf("got node %q and status %+v, want the pod started on n1", pod.Spec.NodeName, pod.Status)
		}
	})
	t.Run("list", func(t *testing.T) {
		list, err := pods.List(ctx, metav1.ListOptions{LabelSelector: "app=b"})
		if err != nil || len(list.Items) != 1 || list.Items[0].Name != "b" {
			t.Errorf("by label: got %v (%v), want pod b", list, err)
		}
		list, err = client.CoreV1().Pods("").List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=n1"})
		if err != nil || len(list.Items) != 2 {
			t.Errorf("by node: got %d pods (%v), want 2", len(list.Items), err)
		}
	})
	t.Run("patch of the status", func(t *testing.T) {
		patched, err := pods.Patch(ctx, "a", types.StrategicMergePatchType,
			[]byte(`{"spec": {"nodeName": "n2"}, "status": {"message": "hello"}}`), metav1.PatchOptions{}, "status")
		if err != nil || patched.Spec.NodeName != "n1" || patched.Status.Message != "hello" {
			t.Errorf("got node %q and message %q (%v), want only the status changed", patched.Spec.NodeName, patched.Status.Message, err)
		}
	})
	t.Run("patch of everything but the status", func(t *testing.T) {
		patched, err := pods.Patch(ctx, "a", types.MergePatchType,
			[]byte(`{"metadata": {"labels": {"x": "y"}}, "status": {"message": "bye"}}`), metav1.PatchOptions{})
		if err != nil || patched.Labels["x"] != "y" || patched.Status.Message != "hello" {
			t.Errorf("got labels %v and message %q (%v), want only the labels changed", patched.Labels, patched.Status.Message, err)
		}
		patched, err = pods.Patch(ctx, "a", types.JSONPatchType, []byte(`[{"op": "remove", "path": "/metadata/labels/x"}]`), metav1.PatchOptions{})
		if err != nil || patched.Labels["x"] != "" {
			t.Errorf("got labels %v (%v), want the label removed", patched.Labels, err)
		}
	})
	t.Run("update", func(t *testing.T) {
		pod := stored(t, client, "a")
		version := pod.ResourceVersion
		if same, err := pods.Update(ctx, pod, metav1.UpdateOptions{}); err != nil || same.ResourceVersion != version {
			t.Errorf("changing nothing: got version %s (%v), want %s", same.ResourceVersion, err, version)
		}
		pod.Annotations = map[string]string{"a": "b"}
		if _, err := pods.Update(ctx, pod, metav1.UpdateOptions{}); err != nil {
			t.Errorf("updating: %v", err)
		}
		if _, err := pods.Update(ctx, pod, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
			t.Errorf("updating an old version: got error %v, want a conflict", err)
		}
	})
	t.Run("bind", func(t *testing.T) {
		must(t, cluster.Create(newPod("c", "1"), newPod("gated", "1")))
		bind := func(name string, uid types.UID, node string) error {
			return pods.Bind(ctx, &v1.Binding{
				ObjectMeta: metav1.ObjectMeta{Name: name, UID: uid}, Target: v1.ObjectReference{Name: node},
			}, metav1.CreateOptions{})
		}
		if err := bind("c", "other", "n1"); !apierrors.IsConflict(err) {
			t.Errorf("binding another UID: got error %v, want a conflict", err)
		}
		if err := bind("c", "", ""); !apierrors.IsBadRequest(err) {
			t.Errorf("binding to no node: got error %v, want a bad request", err)
		}
		must(t, bind("c", stored(t, client, "c").UID, "n1"))
		if err := bind("c", "", "n1"); !apierrors.IsConflict(err) {
			t.Errorf("binding again: got error %v, want a conflict", err)
		}
		if err := bind("no-provisioner", "", "n1"); !apierrors.IsNotFound(err) {
			t.Errorf("binding a missing pod: got error %v, want not found", err)
		}
	})
	t.Run("delete", func(t *testing.T) {
		err := pods.Delete(ctx, "a", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: ptr.To(types.UID("other"))}})
		if !apierrors.IsConflict(err) {
			t.Errorf("deleting another UID: got error %v, want a conflict", err)
		}
		must(t, pods.Delete(ctx, "a", metav1.DeleteOptions{}))
		if err := pods.Delete(ctx, "a", metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("deleting again: got error %v, want not found", err)
		}
		must(t, pods.EvictV1(ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "b", Namespace: "shop"}}))
		must(t, pods.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "app=c"}))
		list, err := pods.List(ctx, metav1.ListOptions{})
		if err != nil || len(list.Items) != 1 || list.Items[0].Name != "gated" {
			t.Errorf("got %v (%v), want nothing but the last pod", list, err)
		}
	})
}

func TestRequestsThatAreNotSimulated(t *testing.T) {
	cluster := newCluster(t, simulate.Options{})
	must(t, cluster.Create(newNode("n1", "4")))
	ctx, client := t.Context(), cluster.Client()
	if err := client.CoreV1().Nodes().Delete(ctx, "n1", metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}); err == nil {
		t.Error("a dry run worked, want an error")
	}
	if _, err := client.CoreV1().Nodes().Patch(ctx, "n1", "application/unknown", []byte(`{}`), metav1.PatchOptions{}); err == nil {
		t.Error("an unknown kind of patch worked, want an error")
	}
	if _, err := client.AppsV1().ReplicaSets("default").GetScale(ctx, "x", metav1.GetOptions{}); err == nil {
		t.Error("there is a scale, want an error")
	}
}

func TestObjectsWithFinalizers(t *testing.T) {
	cluster := newCluster(t, simulate.Options{})
	pod := newPod("a", "4")
	pod.Finalizers = []string{"example.com/archive"}
	must(t, cluster.Create(newNode("n1", "4"), pod, newPod("b", "4")))
	must(t, cluster.Settle())
	must(t, cluster.Delete(pod))
	must(t, cluster.Settle())
	if state, _ := cluster.Pod("shop", "b"); state.Pool != simulate.PoolUnschedulable {
		t.Errorf("while the first pod is terminating: got %+v, want the second still waiting", state)
	}
	must(t, cluster.Patch(pod, `{"metadata": {"finalizers": null}}`))
	must(t, cluster.Settle())
	if state, _ := cluster.Pod("shop", "b"); state.Node != "n1" {
		t.Errorf("after the first pod is gone: got %+v, want the second on n1", state)
	}
}

func TestTerminatingPodIsNotTried(t *testing.T) {
	cluster := newCluster(t, simulate.Options{})
	pod := newPod("a", "1")
	pod.Finalizers = []string{"example.com/archive"}
	must(t, cluster.Create(newNode("n1", "4"), pod))
	must(t, cluster.Delete(pod))
	must(t, cluster.Settle())
	if state, _ := cluster.Pod("shop", "a"); state.Pool != simulate.PoolDeleted || state.Attempts != 0 {
		t.Errorf("got %+v, want the pod left alone", state)
	}
}

func TestTimersOfTheClock(t *testing.T) {
	cluster := newCluster(t, simulate.Options{})
	var fired []simulate.Time
	cluster.Clock().AfterFunc(90*time.Second, func() { fired = append(fired, cluster.Now()) })
	must(t, cluster.Advance(time.Minute))
	if len(fired) != 0 {
		t.Errorf("the timer fired at %v, want not yet", fired)
	}
	must(t, cluster.Settle())
	if diff := cmp.Diff([]simulate.Time{simulate.Time(90 * time.Second)}, fired); diff != "" {
		t.Errorf("the timer fired at other times (-want +got):\n%s", diff)
	}
}

func TestConfigurationThatCannotBeCarriedOut(t *testing.T) {
	options := withPlugin(t, "Test", quotas)
	options.Registry = nil // the in-tree plugins only
	if _, err := simulate.NewCluster(t.Context(), options); err == nil {
		t.Error("a cluster was made with a plugin that does not exist")
	}
}
