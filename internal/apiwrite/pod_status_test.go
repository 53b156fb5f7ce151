// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package apiwrite_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/rouse-scheduler/rouse/internal/apiwrite"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// patches returns the patches that a client sent.
func patches(client *fake.Clientset) []string {
	var all []string
	for _, action := range client.Actions() {
		if patch, ok := action.(clienttesting.PatchAction); ok {
			all = append(all, patch.GetSubresource()+" "+string(patch.GetPatch()))
		}
	}
	return all
}

func TestPatchPodStatus(t *testing.T) {
	condition := v1.PodCondition{Type: v1.PodScheduled, Status: v1.ConditionFalse, Reason: "Unschedulable"}
	tests := []struct {
		name   string
		before v1.PodStatus
		change func(*v1.PodStatus)
		want   []string
	}{
		{"nothing new", v1.PodStatus{NominatedNodeName: "n", Conditions: []v1.PodCondition{condition}}, func(*v1.PodStatus) {}, nil},
		{"a nomination", v1.PodStatus{}, func(s *v1.PodStatus) { s.NominatedNodeName = "n" },
			[]string{`status {"metadata":{"uid":"default/a"},"status":{"nominatedNodeName":"n"}}`}},
		{"a nomination withdrawn", v1.PodStatus{NominatedNodeName: "n"}, func(s *v1.PodStatus) { s.NominatedNodeName = "" },
			[]string{`status {"metadata":{"uid":"default/a"},"status":{"nominatedNodeName":null}}`}},
		{"the reason of a condition", v1.PodStatus{Conditions: []v1.PodCondition{condition}}, func(s *v1.PodStatus) { s.Conditions[0].Reason = "SchedulerError" },
			[]string{`status {"metadata":{"uid":"default/a"},"status":{"$setElementOrder/conditions":[{"type":"PodScheduled"}],` +
				`"conditions":[{"reason":"SchedulerError","type":"PodScheduled"}]}}`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pod := objects.Pod("a").With(func(p *v1.Pod) { p.Status = tt.before }).Build()
			client := fake.NewClientset(pod.DeepCopy())
			after := pod.Status.DeepCopy()
			tt.change(after)
			if err := apiwrite.PatchPodStatus(t.Context(), client, pod, after); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, patches(client)); diff != "" {
				t.Errorf("patches (-want +got):\n%s", diff)
			}
			stored, err := client.CoreV1().Pods("default").Get(t.Context(), "a", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(*after, stored.Status); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPatchPodStatusTriesAgain(t *testing.T) {
	tests := []struct {
		name  string
		err   error
		tries int
	}{
		{"conflict", apierrors.NewConflict(pods(), "a", errors.New("changed")), 4},
		{"overloaded", apierrors.NewTooManyRequests("slowly", 0), 4},
		{"gone", apierrors.NewNotFound(pods(), "a"), 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := fake.NewClientset()
				client.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, apiruntime.Object, error) { return true, nil, tt.err })
				err := apiwrite.PatchPodStatus(t.Context(), client, objects.Pod("a").Build(), &v1.PodStatus{NominatedNodeName: "n"})
				if !errors.Is(err, tt.err) || len(client.Actions()) != tt.tries {
					t.Errorf("%d tries, error %v; want %d, %v", len(client.Actions()), err, tt.tries, tt.err)
				}
			})
		})
	}
}

func TestSetCondition(t *testing.T) {
	before, now := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC), time.Date(2026, time.March, 1, 13, 0, 0, 0, time.UTC)
	other := v1.PodCondition{Type: v1.PodReady, Status: v1.ConditionFalse}
	condition := func(status v1.ConditionStatus, reason string, generation int64, at time.Time) v1.PodCondition {
		return v1.PodCondition{Type: v1.PodScheduled, Status: status, Reason: reason, ObservedGeneration: generation, LastTransitionTime: metav1.NewTime(at)}
	}
	const no, yes = v1.ConditionFalse, v1.ConditionTrue
	tests := []struct {
		name      string
		old, want []v1.PodCondition
	}{
		{"the first", nil, []v1.PodCondition{condition(no, "Full", 2, now)}},
		{"the first of its type", []v1.PodCondition{other}, []v1.PodCondition{other, condition(no, "Full", 2, now)}},
		{"another status", []v1.PodCondition{condition(yes, "Full", 2, before), other}, []v1.PodCondition{condition(no, "Full", 2, now), other}},
		{"another reason", []v1.PodCondition{condition(no, "Error", 1, before)}, []v1.PodCondition{condition(no, "Full", 2, before)}},
		{"another generation", []v1.PodCondition{condition(no, "Full", 1, before)}, []v1.PodCondition{condition(no, "Full", 1, before)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			status := &v1.PodStatus{Conditions: tt.old}
			apiwrite.SetCondition(status, v1.PodCondition{Type: v1.PodScheduled, Status: no, Reason: "Full", ObservedGeneration: 2}, now)
			if diff := cmp.Diff(tt.want, status.Conditions); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
		})
	}
}
