// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package preemption_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"
	testclock "k8s.io/utils/clock/testing"

	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
)

// patches returns the patches of the status of a pod, decoded, and checks that there were no other ones.
func (s *setup) patches(t *testing.T, name string) []map[string]any {
	t.Helper()
	var all []map[string]any
	for _, action := range s.client.Actions() {
		patch, ok := action.(clienttesting.PatchAction)
		if !ok || patch.GetName() != name {
			continue
		}
		if patch.GetSubresource() != "status" {
			t.Errorf("a patch of %q", patch.GetSubresource())
		}
		var decoded map[string]any
		if err := json.Unmarshal(patch.GetPatch(), &decoded); err != nil {
			t.Fatal(err)
		}
		all = append(all, decoded)
	}
	return all
}

// nomination returns the node that is nominated for a pod as far as the API server knows.
func (s *setup) nomination(t *testing.T, name string) string {
	t.Helper()
	pod, err := s.client.CoreV1().Pods("default").Get(context.Background(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return pod.Status.NominatedNodeName
}

// TestDisruptionCondition is about what controllers learn of a victim.
func TestDisruptionCondition(t *testing.T) {
	now := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	before := now.Add(-time.Hour)
	const message = "default-scheduler: preempting to accommodate a higher priority pod"
	complete := v1.PodCondition{
		Type: v1.DisruptionTarget, Status: v1.ConditionTrue, Reason: v1.PodReasonPreemptionByScheduler, Message: message,
		LastTransitionTime: metav1.NewTime(before),
	}
	other := complete
	other.Reason, other.Message = "EvictionByEvictionAPI", "drained"
	untrue := complete
	untrue.Status = v1.ConditionFalse
	tests := []struct {
		name string
		old  []v1.PodCondition
		want map[string]any // the condition in the patch; nil if there is no patch
	}{
		{"none before", nil, map[string]any{
			"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler", "message": message,
			"observedGeneration": 7.0, "lastProbeTime": nil, "lastTransitionTime": now.Format(time.RFC3339),
		}},
		{"another type before", []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}, map[string]any{
			"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler", "message": message,
			"observedGeneration": 7.0, "lastProbeTime": nil, "lastTransitionTime": now.Format(time.RFC3339),
		}},
		{"the status changes", []v1.PodCondition{untrue}, map[string]any{
			"type": "DisruptionTarget", "status": "True", "observedGeneration": 7.0, "lastTransitionTime": now.Format(time.RFC3339),
		}},
		{"the time stays when the status does", []v1.PodCondition{other}, map[string]any{
			"type": "DisruptionTarget", "reason": "PreemptionByScheduler", "message": message, "observedGeneration": 7.0,
		}},
		{"it is there already", []v1.PodCondition{complete}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			preemptor, victim := pod("p", 10, "1"), pod("v", 1, "1", on("a"))
			victim.Generation, victim.Status.Conditions = 7, tt.old
			s := newSetup(t, setupOptions{ClusterOptions: fixture.ClusterOptions{
				Objects: list{preemptor, node("a", "1"), victim}, Clock: testclock.NewFakeClock(now),
			}})
			s.preempt(t, preemptor)
			var got map[string]any
			for _, patch := range s.patches(t, "v") {
				got = patch["status"].(map[string]any)["conditions"].([]any)[0].(map[string]any)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("patched condition differs (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{"v"}, s.deleted()); diff != "" {
				t.Errorf("deleted pods differ (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRetries is about which troubles of the API server are worth another try.
func TestRetries(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	internal := apierrors.NewInternalError(errors.New("etcd"))
	unavailable := apierrors.NewServiceUnavailable("starting")
	conflict := apierrors.NewConflict(pods, "v", errors.New("changed"))
	forbidden := apierrors.NewForbidden(pods, "v", errors.New("no"))
	tests := []struct {
		name    string
		verb    string
		answers []error
		calls   int
		deleted bool
	}{
		{"internal error", "patch", []error{internal}, 2, true},
		{"service unavailable", "patch", []error{unavailable, unavailable}, 3, true},
		{"conflict", "patch", []error{conflict}, 2, true},
		{"retries end", "patch", []error{internal, internal, internal, internal, internal}, 4, false},
		{"forbidden", "patch", []error{forbidden}, 1, false},
		{"the pod is gone", "patch", []error{notFound("v")}, 1, false},
		{"too many requests", "patch", []error{apierrors.NewTooManyRequests("slowly", 0)}, 2, true},
		{"the connection is lost", "patch", []error{&url.Error{Op: "Patch", Err: io.EOF}}, 2, true},
		{"deletions are retried", "delete", []error{internal, unavailable}, 3, true},
		{"retries of deletions end", "delete", []error{internal, internal, internal, internal, internal}, 4, false},
		{"a deletion is forbidden", "delete", []error{forbidden}, 1, false},
		{"the pod is gone at last", "delete", []error{notFound("v")}, 1, false},
		{"another pod has its name", "delete", []error{conflict}, 1, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				preemptor := pod("p", 10, "1")
				s := in(t, list{preemptor, node("a", "1"), pod("v", 1, "1", on("a"))})
				s.answer(tt.verb, "v", tt.answers...)
				s.preempt(t, preemptor)
				calls := 0
				for _, action := range s.client.Actions() {
					if action.Matches(tt.verb, "pods") {
						calls++
					}
				}
				if left := s.left(t, "v"); calls != tt.calls || (len(left) == 0) != tt.deleted {
					t.Errorf("got %d calls, left %q; want %d, deleted: %t", calls, left, tt.calls, tt.deleted)
				}
			})
		})
	}
}

// Less important pods lose the node, so that they are not in the way of the preemptor, nor it in theirs unseen.
func TestNominationsAreWithdrawn(t *testing.T) {
	low, equal, high := pod("low", 9, "1", nominatedFor("a")), pod("equal", 10, "1", nominatedFor("a")), pod("high", 11, "1", nominatedFor("a"))
	unwritten, elsewhere := pod("unwritten", 1, "1"), pod("elsewhere", 1, "1", nominatedFor("b"))
	prepare := func(t *testing.T) (*setup, *v1.Pod) {
		preemptor := pod("p", 10, "1")
		return newSetup(t, setupOptions{ClusterOptions: fixture.ClusterOptions{
			Objects: list{preemptor, node("a", "3"), pod("v", 1, "3", on("a")), low, equal, high, unwritten, elsewhere},
			Nominated: map[string][]*v1.Pod{
				"a": {low, equal, high, unwritten},
				"b": {elsewhere},
			},
		}}), preemptor
	}
	t.Run("of lower priority, on that node", func(t *testing.T) {
		s, preemptor := prepare(t)
		result, status := s.preempt(t, preemptor)
		s.checkPreempted(t, result, status, "a", "v")
		got := map[string]string{}
		for _, name := range []string{"low", "equal", "high", "elsewhere"} {
			got[name] = s.nomination(t, name)
		}
		if diff := cmp.Diff(map[string]string{"low": "", "equal": "a", "high": "a", "elsewhere": "b"}, got); diff != "" {
			t.Errorf("nominations differ (-want +got):\n%s", diff)
		}
		want := []map[string]any{{"metadata": map[string]any{"uid": "low"}, "status": map[string]any{"nominatedNodeName": nil}}}
		if diff := cmp.Diff(want, s.patches(t, "low")); diff != "" {
			t.Errorf("patches differ (-want +got):\n%s", diff)
		}
		if got := s.patches(t, "unwritten"); got != nil {
			t.Errorf("a nomination that the API server does not know was withdrawn: %v", got)
		}
		if len(s.Activated()) > 0 {
			t.Errorf("activated %q", s.Activated())
		}
	})
	t.Run("a failure does not keep the victims, but the pod is tried again", func(t *testing.T) {
		s, preemptor := prepare(t)
		s.answer("patch", "low", errors.New("broken"))
		result, status := s.preempt(t, preemptor)
		s.checkPreempted(t, result, status, "a", "v")
		if diff := cmp.Diff([]string{"default/p"}, s.Activated()); diff != "" {
			t.Errorf("activated pods differ (-want +got):\n%s", diff)
		}
	})
	t.Run("a pod that is gone has none", func(t *testing.T) {
		s, preemptor := prepare(t)
		s.answer("patch", "low", notFound("low"))
		s.preempt(t, preemptor)
		if len(s.Activated()) > 0 {
			t.Errorf("activated %q", s.Activated())
		}
	})
}
