// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"errors"
	"net/url"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/queue"
)

func TestUnchangedConditionIsNotWrittenAgain(t *testing.T) {
	f := newFixture(t)
	f.nodeAdded(objects.Node("n1").Capacity("cpu", "1", "memory", "8Gi").Build())
	pod := objects.Pod("a").Requests("cpu", "2").Build()
	f.park(pod)
	stored, err := f.client.CoreV1().Pods("default").Get(f.ctx, "a", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	stored.ResourceVersion = "2"
	if err := f.options.Informers.Core().V1().Pods().Informer().GetIndexer().Update(stored); err != nil {
		t.Fatal(err)
	}
	f.podUpdated(pod, stored)
	f.client.ClearActions()
	f.clock.Step(time.Hour)
	f.Queue().FlushUnschedulable()
	f.attempt()
	if writes := f.writes(); len(writes) > 0 {
		t.Errorf("the second attempt wrote %v, want nothing", writes)
	}
}

func TestConditionAndNominationAreWritten(t *testing.T) {
	before := metav1.NewTime(time.Date(2025, 12, 31, 0, 0, 0, 0, time.UTC))
	now := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)) // where the clock of a fixture begins
	const message = "0/1 nodes are available: 1 full."
	condition := func(change ...func(*v1.PodCondition)) v1.PodCondition {
		c := v1.PodCondition{
			Type: v1.PodScheduled, Status: v1.ConditionFalse, Reason: "Unschedulable", Message: message,
			ObservedGeneration: 7, LastTransitionTime: before,
		}
		for _, apply := range change {
			apply(&c)
		}
		return c
	}
	other := v1.PodCondition{Type: "Other", Status: v1.ConditionTrue, LastTransitionTime: before}
	status := func(nominated string, conditions ...v1.PodCondition) v1.PodStatus {
		return v1.PodStatus{NominatedNodeName: nominated, Conditions: conditions}
	}
	atNow := func(c *v1.PodCondition) { c.LastTransitionTime = now }
	tests := []struct {
		name          string
		before, after v1.PodStatus
		result        *fwk.PostFilterResult
		quiet         bool
	}{
		{name: "the first condition", after: status("", condition(atNow))},
		{
			name:   "a condition of another type stays",
			before: status("", other), after: status("", other, condition(atNow)),
		},
		{
			name:   "another message and reason leave the time of the transition alone",
			before: status("", condition(func(c *v1.PodCondition) { c.Message, c.Reason = "old", "SchedulerError" }), other),
			after:  status("", condition(), other),
		},
		{
			name:   "another status moves it",
			before: status("", condition(func(c *v1.PodCondition) { c.Status = v1.ConditionTrue })),
			after:  status("", condition(atNow)),
		},
		{
			name:   "nothing new",
			before: status("", condition(), other), after: status("", condition(), other), quiet: true,
		},
		{
			name:   "nothing new but the generation",
			before: status("", condition(func(c *v1.PodCondition) { c.ObservedGeneration = 6 })),
			after:  status("", condition(func(c *v1.PodCondition) { c.ObservedGeneration = 6 })), quiet: true,
		},
		{
			name:   "only a nomination is new",
			before: status("", condition()), after: status("n1", condition()), result: nominate("n1"),
		},
		{
			name:   "only a nomination is withdrawn",
			before: status("n1", condition()), after: status("", condition()), result: nominate(""),
		},
		{
			name:   "nothing is said about the nomination",
			before: status("n1", condition()), after: status("n1", condition()), quiet: true,
		},
		{
			name:  "a condition and a nomination",
			after: status("n1", condition(atNow)), result: nominate("n1"),
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := newFixtureWith(t, bare,
				filters(func(*v1.Pod, fwk.NodeInfo) *fwk.Status { return fwk.NewStatus(fwk.Unschedulable, "full") }),
				makesRoom(func(fwk.NodeToStatusReader) (*fwk.PostFilterResult, *fwk.Status) {
					return test.result, fwk.NewStatus(fwk.Unschedulable)
				}))
			f.addNodes("n1")
			f.park(objects.Pod("a").Requests("cpu", "1").With(func(p *v1.Pod) { p.Generation, p.Status = 7, test.before }).Build())
			if diff := cmp.Diff(test.after, f.stored("a").Status); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
			if quiet := len(f.writes()) == 0; quiet != test.quiet {
				t.Errorf("wrote %v, want nothing: %v", f.writes(), test.quiet)
			}
		})
	}
}

func TestStatusPatchIsTriedAgain(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	tests := []struct {
		name  string
		err   error
		times int // how often the API refuses
		tries int
	}{
		{"the API is well", nil, 0, 1},
		{"a conflict", apierrors.NewConflict(pods, "a", errors.New("changed")), 2, 3},
		{"an internal error", apierrors.NewInternalError(errors.New("oops")), 1, 2},
		{"unavailable", apierrors.NewServiceUnavailable("starting"), 3, 4},
		{"connection refused", &url.Error{Op: "Patch", Err: syscall.ECONNREFUSED}, 1, 2},
		{"in vain", apierrors.NewConflict(pods, "a", errors.New("changed")), 100, 4},
		{"an error that does not pass", apierrors.NewForbidden(pods, "a", errors.New("no")), 1, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // the tries are a while apart
				f := newFixtureWith(t, bare)
				tries := 0
				f.client.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, apiruntime.Object, error) {
					tries++
					return tries <= test.times, nil, test.err
				})
				pod := objects.Pod("a").Requests("cpu", "1").Build()
				f.know(pod)
				err := f.patchStatus(t.Context(), pod, &v1.PodCondition{Type: v1.PodScheduled, Status: v1.ConditionFalse}, nil)
				if tries != test.tries {
					t.Errorf("%d tries, want %d", tries, test.tries)
				}
				if failed := test.tries <= test.times; (err != nil) != failed || failed && !errors.Is(err, test.err) {
					t.Errorf("error %v, want one: %v", err, failed)
				}
				if written := len(f.stored("a").Status.Conditions) == 1; written != (err == nil) {
					t.Errorf("the condition was written: %v", written)
				}
			})
		})
	}
}

func TestPodIsRequeuedEvenIfItsStatusCannotBeWritten(t *testing.T) {
	f := newFixtureWith(t, bare)
	f.client.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, apiruntime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "a", errors.New("no"))
	})
	f.add(objects.Pod("a").Requests("cpu", "1").Build())
	f.attempt()
	f.wantPool("a", queue.PoolBackoff)
}
