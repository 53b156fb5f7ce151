// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package preemption_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
)

const inMemory = "Normal Preempted Preempting: Preempted by pod p on node a (in kube-scheduler memory). [p]"

// binding is where a victim is on its way to the node.
type binding int

const (
	bound binding = iota
	waiting
	preBinding
	preBound // PreBind is over: it is too late to call the binding off
	both     // waiting for permission, and listed for PreBind by mistake
)

// TestPodsOnTheirWayToTheNode takes back what needs no API call. Of the victims v3, v2 and v1, v1 is the last to go.
func TestPodsOnTheirWayToTheNode(t *testing.T) {
	tests := []struct {
		name       string
		v1, v2, v3 binding
		deleted    []string
		inMemory   string
		activated  []string
	}{
		{"all bound", bound, bound, bound, []string{"v1", "v2", "v3"}, "", nil},
		{"waiting for permission", bound, waiting, bound, []string{"v1", "v3"}, "v2", nil},
		{"in PreBind", bound, bound, preBinding, []string{"v1", "v2"}, "v3", nil},
		{"PreBind is over", preBound, preBound, preBound, []string{"v1", "v2", "v3"}, "", nil},
		{"the last one waits for permission: no deletion will wake the preemptor", waiting, bound, bound,
			[]string{"v2", "v3"}, "v1", []string{"default/p"}},
		{"the last one is in PreBind", preBinding, bound, waiting, []string{"v2"}, "v1 v3", []string{"default/p"}},
		{"waiting comes before PreBind", bound, both, bound, []string{"v1", "v3"}, "v2", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			preemptor, all := threeVictims()
			s := in(t, all)
			decisions := map[string]*fwk.Status{}
			bindings := map[string]context.Context{}
			for i, state := range []binding{tt.v1, tt.v2, tt.v3} {
				name := fmt.Sprintf("v%d", i+1)
				pod := pod(name, 1, "1", on("a"))
				if state == waiting || state == both {
					s.AddWaitingPod(pod, map[string]time.Duration{"Permit": time.Hour})
					s.OnPermitDecided(pod, func(status *fwk.Status) { decisions[name] = status })
				}
				if state == preBinding || state == preBound || state == both {
					ctx, cancel := context.WithCancelCause(t.Context())
					s.AddPodInPreBind(pod.UID, cancel)
					bindings[name] = ctx
					if state == preBound && !s.GetPodInPreBind(pod.UID).MarkPrebound() {
						t.Fatal("cancelled before anything began")
					}
				}
			}
			result, status := s.preempt(t, preemptor)
			if !status.IsSuccess() || nominated(result) != "a" {
				t.Fatalf("got status %v %q, nomination %s", status.Code(), status.Message(), nominated(result))
			}
			if diff := cmp.Diff(tt.deleted, s.deleted()); diff != "" {
				t.Errorf("deleted pods differ (-want +got):\n%s", diff)
			}
			var taken []string
			for _, event := range s.Recorded() {
				if name, found := strings.CutSuffix(event, " "+inMemory); found {
					taken = append(taken, name)
				}
			}
			if got := strings.Join(taken, " "); got != tt.inMemory {
				t.Errorf("taken back: %q, want %q", got, tt.inMemory)
			}
			if diff := cmp.Diff(tt.activated, s.Activated()); diff != "" {
				t.Errorf("activated pods differ (-want +got):\n%s", diff)
			}
			for name, decision := range decisions {
				if !decision.IsError() || !strings.HasSuffix(decision.Message(), "preempted") || decision.Plugin() != "Test" {
					t.Errorf("%s stopped waiting with %v %q of %q", name, decision.Code(), decision.Message(), decision.Plugin())
				}
			}
			for name, ctx := range bindings {
				want := ""
				if slices.Contains(strings.Fields(tt.inMemory), name) && decisions[name] == nil {
					want = "preempted by Test"
				}
				if cause := context.Cause(ctx); (cause == nil) != (want == "") || cause != nil && cause.Error() != want {
					t.Errorf("the binding of %s ended with %v, want %q", name, cause, want)
				}
			}
		})
	}
}

// A pod whose binding was called off counts on its node until its binding cycle has noticed. A preemptor that is tried meanwhile
// finds it there, and must neither delete it, as it goes back to the queue, nor be held back, as nothing else is to come. If
// another client has bound it, it does not go by itself.
func TestPodWhoseBindingWasCalledOffIsNotDeleted(t *testing.T) {
	for _, test := range []struct {
		name    string
		known   *v1.Pod // to the informer
		deleted []string
	}{
		{"not bound", pod("v", 1, "1"), nil},
		{"bound by another client", pod("v", 1, "1", on("a")), []string{"v"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			preemptor, victim := pod("p", 10, "1"), pod("v", 1, "1", on("a"))
			s := in(t, list{preemptor, node("a", "1"), victim})
			fixture.Store(t, s.SharedInformerFactory(), test.known)
			s.AddWaitingPod(victim, map[string]time.Duration{"Permit": time.Hour})
			s.OnPermitDecided(victim, func(*fwk.Status) {})
			for try := range 2 {
				result, status := s.preempt(t, preemptor)
				if !status.IsSuccess() || nominated(result) != "a" {
					t.Errorf("try %d: got status %v %q, nomination %s", try, status.Code(), status.Message(), nominated(result))
				}
				if s.evaluator.Preempting(preemptor) {
					t.Errorf("try %d: the preemptor is held back", try)
				}
			}
			if diff := cmp.Diff(test.deleted, s.deleted()); diff != "" {
				t.Errorf("deleted pods (-want +got):\n%s", diff)
			}
		})
	}
}
