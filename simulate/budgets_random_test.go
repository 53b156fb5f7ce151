// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/rouse-scheduler/rouse/simulate"
)

// TestBudgetsCountTheirPods changes pods and budgets at random. Whatever happened, the status of every budget counts the pods that
// it selects now.
func TestBudgetsCountTheirPods(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			c, err := simulate.NewCluster(t.Context(), simulate.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			r := budgetChanges{rand.New(rand.NewPCG(seed, 0)), c}
			for i := range 150 {
				_ = r.change(t.Context()) // of what is there already, or is not
				if i%5 == 0 {
					r.check(t)
				}
			}
		})
	}
}

// budgetChanges changes the pods and budgets of a cluster.
type budgetChanges struct {
	*rand.Rand
	cluster *simulate.Cluster
}

func (r budgetChanges) meta(kind string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: []string{"a", "b"}[r.IntN(2)], Name: fmt.Sprint(kind, r.IntN(6))}
}

func (r budgetChanges) labels() map[string]string {
	chosen := map[string]string{}
	for _, key := range []string{"app", "tier"} {
		if r.IntN(3) > 0 {
			chosen[key] = fmt.Sprint(r.IntN(2))
		}
	}
	return chosen
}

func (r budgetChanges) selector() *metav1.LabelSelector {
	switch r.IntN(5) {
	case 0:
		return nil
	case 1:
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: metav1.LabelSelectorOpDoesNotExist}}}
	}
	return &metav1.LabelSelector{MatchLabels: r.labels()}
}

// change makes one change, or fails because its object exists, or does not.
func (r budgetChanges) change(ctx context.Context) error {
	pod := &v1.Pod{ObjectMeta: r.meta("pod"), Spec: v1.PodSpec{Containers: []v1.Container{{Name: "c"}}}}
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: r.meta("budget"), Spec: policyv1.PodDisruptionBudgetSpec{Selector: r.selector()}}
	if r.IntN(6) > 0 {
		budget.Spec.MinAvailable = ptr.To(intstr.FromInt32(1))
	}
	switch r.IntN(8) {
	case 0, 1, 2:
		pod.Labels, pod.Spec.NodeName = r.labels(), []string{"", "n1"}[r.IntN(2)]
		return r.cluster.Create(pod)
	case 3:
		return r.cluster.Delete(pod)
	case 4:
		return r.cluster.Patch(pod, fmt.Sprintf(`{"metadata":{"labels":{"app":"%d"}}}`, r.IntN(2)))
	case 5:
		pods := r.cluster.Client().CoreV1().Pods(pod.Namespace)
		_, err := pods.Patch(ctx, pod.Name, "application/merge-patch+json", []byte(`{"status":{"phase":"Succeeded"}}`), metav1.PatchOptions{}, "status")
		return err
	case 6:
		if err := r.cluster.Create(budget); err == nil {
			return nil
		}
		return r.cluster.Update(budget)
	}
	return r.cluster.Delete(budget)
}

func (r budgetChanges) check(t *testing.T) {
	t.Helper()
	budgets, err := r.cluster.Client().PolicyV1().PodDisruptionBudgets("").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, budget := range budgets.Items {
		pods, err := r.cluster.Client().CoreV1().Pods(budget.Namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
		if err != nil {
			t.Fatal(err)
		}
		var expected, healthy int32
		for _, pod := range pods.Items {
			if budget.Spec.MinAvailable == nil || pod.Status.Phase == v1.PodSucceeded || !selector.Matches(labels.Set(pod.Labels)) {
				continue
			}
			expected++
			if pod.Spec.NodeName != "" {
				healthy++
			}
		}
		if got := budget.Status; got.ExpectedPods != expected || got.CurrentHealthy != healthy || got.DisruptionsAllowed != max(0, healthy-1) && budget.Spec.MinAvailable != nil {
			t.Errorf("budget %s/%s has status %+v, want %d pods, %d of them healthy", budget.Namespace, budget.Name, got, expected, healthy)
		}
	}
}

// BenchmarkPodsWithBudgets creates a pod with a node where each of many applications has a budget. It costs the same with many
// budgets as with few.
func BenchmarkPodsWithBudgets(b *testing.B) {
	for _, budgets := range []int{10, 1_000} {
		b.Run(fmt.Sprintf("budgets=%d", budgets), func(b *testing.B) {
			c, err := simulate.NewCluster(b.Context(), simulate.Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			application := func(kind string, i int) metav1.ObjectMeta {
				return metav1.ObjectMeta{Namespace: "a", Name: fmt.Sprint(kind, i), Labels: map[string]string{"app": fmt.Sprint(i % budgets)}}
			}
			for i := range budgets {
				meta := application("budget", i)
				if err := c.Create(&policyv1.PodDisruptionBudget{ObjectMeta: meta, Spec: policyv1.PodDisruptionBudgetSpec{
					MinAvailable: ptr.To(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: meta.Labels},
				}}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if err := c.Create(&v1.Pod{ObjectMeta: application("pod", i), Spec: v1.PodSpec{NodeName: "n1", Containers: []v1.Container{{Name: "c"}}}}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
