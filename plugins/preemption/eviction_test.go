// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package preemption_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugins/preemption"
)

func notFound(name string) error {
	return apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, name)
}

// answer makes the API server answer requests of a kind about a pod with an error, the first ones in order with the
// given errors, and all further ones as usual.
func (s *setup) answer(verb, name string, errs ...error) {
	s.client.PrependReactor(verb, "pods", func(action clienttesting.Action) (bool, apiruntime.Object, error) {
		named, ok := action.(interface{ GetName() string })
		if !ok || named.GetName() != name || len(errs) == 0 {
			return false, nil, nil
		}
		err := errs[0]
		errs = errs[1:]
		return err != nil, nil, err
	})
}

// left returns the names of the pods that the API server still has, of those given.
func (s *setup) left(t *testing.T, names ...string) []string {
	t.Helper()
	var left []string
	for _, name := range names {
		_, err := s.client.CoreV1().Pods("default").Get(context.Background(), name, metav1.GetOptions{})
		switch {
		case err == nil:
			left = append(left, name)
		case !apierrors.IsNotFound(err):
			t.Fatal(err)
		}
	}
	return left
}

// threeVictims returns a preemptor and a node where v3, v2 and v1 have to go for it; v1 is the last one to go.
func threeVictims(changes ...func(*v1.Pod)) (*v1.Pod, list) {
	preemptor := pod("p", 10, "3")
	all := list{preemptor, node("a", "3"), pod("v1", 1, "1", on("a")), pod("v2", 2, "1", on("a")), pod("v3", 3, "1", on("a"))}
	for _, change := range changes {
		for _, object := range all[2:] {
			change(object.(*v1.Pod))
		}
	}
	return preemptor, all
}

// TestEvictionInBackground runs the evictions in goroutines of their own, as they are in a scheduler.
func TestEvictionInBackground(t *testing.T) {
	broken := errors.New("broken")
	gone := func(names ...string) func(*setup) {
		return func(s *setup) {
			for _, name := range names {
				s.answer("patch", name, notFound(name))
			}
		}
	}
	fails := func(verb, name string) func(*setup) {
		return func(s *setup) { s.answer(verb, name, broken) }
	}
	tests := []struct {
		name      string
		prepare   func(*setup)
		left      []string
		events    []string
		activated []string
	}{
		{"all succeed", func(*setup) {}, nil, []string{"v1", "v2", "v3"}, nil},
		{"all succeed, but an event would have woken the preemptor", func(s *setup) {
			s.client.PrependReactor("delete", "pods", func(clienttesting.Action) (bool, apiruntime.Object, error) {
				if !s.evaluator.Preempting(pod("p", 10, "3")) {
					t.Error("not held back")
				}
				return false, nil, nil
			})
		}, nil, []string{"v1", "v2", "v3"}, []string{"default/p"}},
		{"the last one fails to be deleted", fails("delete", "v1"), []string{"v1"}, []string{"v2", "v3"}, []string{"default/p"}},
		{"the last one fails to be marked", fails("patch", "v1"), []string{"v1"}, []string{"v2", "v3"}, []string{"default/p"}},
		{"one before the last fails, and the last one stays", fails("delete", "v2"), []string{"v1", "v2"}, []string{"v3"}, []string{"default/p"}},
		{"it fails to be marked, and is not deleted", fails("patch", "v2"), []string{"v1", "v2"}, []string{"v3"}, []string{"default/p"}},
		{"the last one is gone already: its deletion may have come too early to wake the preemptor", gone("v1"), []string{"v1"}, []string{"v2", "v3"}, []string{"default/p"}},
		{"another one is gone already", gone("v3"), []string{"v3"}, []string{"v1", "v2"}, nil},
		{"one goes between marking and deleting it", func(s *setup) { s.answer("delete", "v2", notFound("v2")) },
			[]string{"v2"}, []string{"v1", "v3"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				preemptor, all := threeVictims()
				var tasks []func()
				s := newSetup(t, setupOptions{ClusterOptions: fixture.ClusterOptions{
					Objects: all, Parallelism: 4, Go: func(task func()) { tasks = append(tasks, task) },
				}})
				tt.prepare(s)
				ctx, endOfCycle := context.WithCancel(silent(t))
				state, statuses := s.Filter(t, preemptor)
				result, status := s.evaluator.Preempt(ctx, state, preemptor, statuses)
				endOfCycle() // must not stop the evictions
				if !status.IsSuccess() || nominated(result) != "a" {
					t.Fatalf("got status %v %q, nomination %s", status.Code(), status.Message(), nominated(result))
				}
				if len(tasks) != 1 || len(s.left(t, "v1", "v2", "v3")) != 3 {
					t.Fatalf("%d tasks, want one that did not begin", len(tasks))
				}
				go tasks[0]()
				synctest.Wait()

				if s.evaluator.Preempting(preemptor) {
					t.Error("still preempting")
				}
				if diff := cmp.Diff(tt.left, s.left(t, "v1", "v2", "v3")); diff != "" {
					t.Errorf("remaining pods differ (-want +got):\n%s", diff)
				}
				var events []string
				for _, victim := range tt.events {
					events = append(events, victim+" Normal Preempted Preempting: Preempted by pod p on node a [p]")
				}
				if diff := cmp.Diff(events, s.Recorded()); diff != "" {
					t.Errorf("events differ (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(tt.activated, s.Activated()); diff != "" {
					t.Errorf("activated pods differ (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// In one goroutine, nothing is attempted any more after the first error.
func TestEvictionEndsWithTheFirstError(t *testing.T) {
	preemptor, all := threeVictims()
	s := in(t, all)
	s.answer("patch", "v3", errors.New("broken"))
	s.preempt(t, preemptor)
	if diff := cmp.Diff([]string{"v1", "v2", "v3"}, s.left(t, "v1", "v2", "v3")); diff != "" {
		t.Errorf("remaining pods differ (-want +got):\n%s", diff)
	}
}

// Without a way to start tasks of its own, the evaluator starts a goroutine.
func TestEvictionWithAnOrdinaryHandle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		preemptor, all := threeVictims()
		s := in(t, all)
		ordinary := struct{ fwk.Handle }{s.Cluster.Framework}
		evaluator, err := preemption.NewEvaluator(preemption.Options{PluginName: "Test", Handle: ordinary})
		if err != nil {
			t.Fatal(err)
		}
		state, statuses := s.Filter(t, preemptor)
		result, status := evaluator.Preempt(silent(t), state, preemptor, statuses)
		synctest.Wait()
		s.checkPreempted(t, result, status, "a", "v1 v2 v3")
	})
}

// Pods that are terminating already count as victims, but need not be evicted.
func TestTerminatingVictims(t *testing.T) {
	t.Run("some", func(t *testing.T) {
		preemptor, all := threeVictims()
		terminating(all[2].(*v1.Pod)) // v1, the last
		s := in(t, all)
		_, status := s.preempt(t, preemptor)
		if want := "found a potential placement for pod on node a, preempting 3 victims"; status.Message() != want {
			t.Errorf("got message %q, want %q", status.Message(), want)
		}
		if diff := cmp.Diff([]string{"v2", "v3"}, s.deleted()); diff != "" {
			t.Errorf("deleted pods differ (-want +got):\n%s", diff)
		}
	})
	t.Run("all", func(t *testing.T) {
		preemptor, all := threeVictims(terminating)
		tasks := 0
		s := newSetup(t, setupOptions{ClusterOptions: fixture.ClusterOptions{
			Objects: all, Go: func(func()) { tasks++ },
			Nominated: map[string][]*v1.Pod{"a": {pod("low", 1, "1", nominatedFor("a"))}},
		}})
		result, status := s.preempt(t, preemptor)
		s.checkNothingToDo(t, result, status)
		if tasks > 0 || s.evaluator.Preempting(preemptor) {
			t.Error("an eviction was begun")
		}
	})
}

func (s *setup) checkNothingToDo(t *testing.T, result *fwk.PostFilterResult, status *fwk.Status) {
	t.Helper()
	if !status.IsSuccess() || nominated(result) != "a" {
		t.Errorf("got status %v %q, nomination %s", status.Code(), status.Message(), nominated(result))
	}
	if actions := s.client.Actions(); len(actions) > 0 {
		t.Errorf("got API calls %v, want none", actions)
	}
}

func TestSynchronousEviction(t *testing.T) {
	low := pod("low", 1, "1", nominatedFor("a"))
	newCluster := func(all list) *setup {
		return newSetup(t, setupOptions{synchronous: true, ClusterOptions: fixture.ClusterOptions{
			Objects: append(all, low), Nominated: map[string][]*v1.Pod{"a": {low}},
			Go: func(func()) { t.Error("a task was started") },
		}})
	}
	t.Run("success", func(t *testing.T) {
		preemptor, all := threeVictims()
		s := newCluster(all)
		result, status := s.preempt(t, preemptor)
		s.checkPreempted(t, result, status, "a", "v1 v2 v3")
		if s.evaluator.Preempting(preemptor) || len(s.Activated()) > 0 {
			t.Errorf("preempting: %t, activated %q", s.evaluator.Preempting(preemptor), s.Activated())
		}
		if got := s.nomination(t, "low"); got != "" {
			t.Errorf("low keeps its nomination for %s", got)
		}
	})
	t.Run("failure", func(t *testing.T) {
		preemptor, all := threeVictims()
		s := newCluster(all)
		s.answer("delete", "v2", errors.New("broken"))
		result, status := s.preempt(t, preemptor)
		if want := "preempting pod default/v2 for pod default/p: broken"; !status.IsError() || status.Message() != want || nominated(result) != "kept" {
			t.Errorf("got status %v %q, nomination %s; want Error %q, kept", status.Code(), status.Message(), nominated(result), want)
		}
		if got := s.nomination(t, "low"); got != "a" {
			t.Errorf("low is nominated for %q", got)
		}
	})
	t.Run("a nomination that can't be withdrawn is no failure", func(t *testing.T) {
		preemptor, all := threeVictims()
		s := newCluster(all)
		s.answer("patch", "low", errors.New("broken"))
		result, status := s.preempt(t, preemptor)
		s.checkPreempted(t, result, status, "a", "v1 v2 v3")
	})
}

// TestPreempting is about when a pod may be tried again, from what the informer knows of its last victim.
func TestPreempting(t *testing.T) {
	last := pod("v", 1, "1", on("a"))
	recreated := pod("v", 1, "1")
	recreated.UID = "another"
	tests := []struct {
		name     string
		informer *v1.Pod // what it has instead of the last victim; nil if that is gone
		want     bool
	}{
		{"the last victim is there", last, true},
		{"it was changed", pod("v", 1, "1", on("a"), labelled("x")), true},
		{"it is terminating", pod("v", 1, "1", on("a"), terminating), false},
		{"it is gone", nil, false},
		{"another pod has its name", recreated, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			preemptor := pod("p", 10, "1")
			s := in(t, list{preemptor, node("a", "1"), last})
			if s.evaluator.Preempting(preemptor) {
				t.Error("preempting before anything began")
			}
			during := false
			s.client.PrependReactor("delete", "pods", func(clienttesting.Action) (bool, apiruntime.Object, error) {
				indexer := s.SharedInformerFactory().Core().V1().Pods().Informer().GetIndexer()
				if err := indexer.Delete(last); err != nil {
					t.Error(err)
				}
				if tt.informer != nil {
					fixture.Store(t, s.SharedInformerFactory(), tt.informer)
				}
				during = s.evaluator.Preempting(preemptor)
				if s.evaluator.Preempting(pod("q", 10, "1")) {
					t.Error("preempting for a pod that does not")
				}
				return false, nil, nil
			})
			s.preempt(t, preemptor)
			if during != tt.want {
				t.Errorf("preempting while the eviction ends: %t, want %t", during, tt.want)
			}
			if s.evaluator.Preempting(preemptor) {
				t.Error("preempting after everything is over")
			}
		})
	}
}

// A pod that is released, tried again and preempts again, while the end of its first eviction is still to be noted, stays
// held back for the second.
func TestPreemptingAgain(t *testing.T) {
	preemptor := pod("p", 10, "1")
	var tasks []func()
	s := newSetup(t, setupOptions{ClusterOptions: fixture.ClusterOptions{
		Objects: list{preemptor, node("a", "1"), pod("v", 1, "1", on("a"))},
		Go:      func(task func()) { tasks = append(tasks, task) },
	}})
	s.preempt(t, preemptor)
	s.preempt(t, preemptor)
	tasks[0]()
	if !s.evaluator.Preempting(preemptor) {
		t.Error("released by the end of an earlier eviction")
	}
	tasks[1]()
	if s.evaluator.Preempting(preemptor) {
		t.Error("never released")
	}
}
