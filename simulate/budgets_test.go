// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/simulate"
)

func budget(name string, change func(*policyv1.PodDisruptionBudget)) *policyv1.PodDisruptionBudget {
	b := objects.PodDisruptionBudget(name, "app=web", 0)
	change(b)
	return b
}

func TestBudgetsFollowTheirPods(t *testing.T) {
	c, err := simulate.NewCluster(t.Context(), simulate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(c.Create(objects.Node("n1").Capacity("cpu", "3").Build()))
	must(c.Create(
		budget("two", func(b *policyv1.PodDisruptionBudget) { b.Spec.MinAvailable = ptr.To(intstr.FromInt32(2)) }),
		budget("half", func(b *policyv1.PodDisruptionBudget) { b.Spec.MinAvailable = ptr.To(intstr.FromString("50%")) }),
		budget("one-less", func(b *policyv1.PodDisruptionBudget) { b.Spec.MaxUnavailable = ptr.To(intstr.FromInt32(1)) }),
		budget("given", func(b *policyv1.PodDisruptionBudget) { b.Status.DisruptionsAllowed = 7 }),
	))
	check := func(what string, two, half, oneLess int32) {
		t.Helper()
		must(c.Settle())
		for name, want := range map[string]int32{"two": two, "half": half, "one-less": oneLess, "given": 7} {
			got, err := c.Client().PolicyV1().PodDisruptionBudgets("default").Get(t.Context(), name, metav1.GetOptions{})
			must(err)
			if got.Status.DisruptionsAllowed != want {
				t.Errorf("%s: budget %s allows %d disruptions, want %d", what, name, got.Status.DisruptionsAllowed, want)
			}
		}
	}
	pod := func(i int) *v1.Pod {
		return objects.Pod(fmt.Sprintf("web-%d", i)).Label("app", "web").Requests("cpu", "1").Build()
	}
	check("no pods", 0, 0, 0)
	must(c.Create(pod(1), pod(2), pod(3)))
	check("three pods have a node", 1, 1, 1)
	must(c.Create(pod(4)))
	check("a fourth waits", 1, 1, 0)
	must(c.Delete(pod(1)))
	check("it takes the place of another", 1, 1, 1)
	must(c.Patch(pod(2), `{"metadata":{"labels":{"app":"db"}}}`))
	check("one leaves", 0, 1, 1)
}

func TestUpdateSetsDefaults(t *testing.T) {
	c, err := simulate.NewCluster(t.Context(), simulate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: v1.PodSpec{
		Priority:   ptr.To[int32](5),
		Containers: []v1.Container{{Name: "c"}},
	}}
	if err := c.Create(pod); err != nil {
		t.Fatal(err)
	}
	changed := pod.DeepCopy()
	changed.Spec.Priority = nil
	changed.Spec.Containers[0].Resources.Limits = objects.Resources("cpu", "2")
	if err := c.Update(changed); err != nil {
		t.Fatal(err)
	}
	got, err := c.Client().CoreV1().Pods("default").Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if cpu := got.Spec.Containers[0].Resources.Requests[v1.ResourceCPU]; cpu.String() != "2" {
		t.Errorf("the pod requests %s of CPU, want its limit", cpu.String())
	}
	if got.Spec.SchedulerName != v1.DefaultSchedulerName || ptr.Deref(got.Spec.Priority, 0) != 5 {
		t.Errorf("scheduler %q and priority %d, want the default and 5", got.Spec.SchedulerName, ptr.Deref(got.Spec.Priority, 0))
	}
}

func TestObjectThatComesAgainIsAnother(t *testing.T) {
	c, err := simulate.NewCluster(t.Context(), simulate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	pod := objects.Pod("web").UID("given").Build()
	uid := func() types.UID {
		t.Helper()
		got, err := c.Client().CoreV1().Pods("default").Get(t.Context(), "web", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return got.UID
	}
	if err := c.Create(pod); err != nil {
		t.Fatal(err)
	}
	if got := uid(); got != "given" {
		t.Errorf("UID %s, want the one that was given", got)
	}
	if err := c.Create(pod); err == nil {
		t.Error("the pod was created twice")
	}
	if err := c.Delete(pod); err != nil {
		t.Fatal(err)
	}
	if err := c.Create(pod); err != nil {
		t.Fatal(err)
	}
	if got := uid(); got == "given" {
		t.Error("the pod that came again has the UID of the first")
	}
	if found := len(c.Report().Pods); found != 2 {
		t.Errorf("the report has %d pods, want both", found)
	}
}
