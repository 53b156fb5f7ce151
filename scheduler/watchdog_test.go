// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/fake"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// hanging is a plugin that hangs in one method for pods called bad, until released or, if it heeds it, until the context
// ends.
type hanging struct {
	in      string
	heeds   bool
	release chan struct{}
	quits   bool // ends the goroutine instead
}

func (h *hanging) Name() string { return "Hanging" }

func (h *hanging) hang(ctx context.Context, in string, pod *v1.Pod) *fwk.Status {
	if in != h.in || pod.Name != "bad" {
		return nil
	}
	if h.quits {
		goruntime.Goexit()
	}
	if !h.heeds {
		<-h.release
		return nil
	}
	select {
	case <-h.release:
		return nil
	case <-ctx.Done():
		return fwk.AsStatus(context.Cause(ctx))
	}
}

func (h *hanging) PreFilter(ctx context.Context, _ fwk.CycleState, pod *v1.Pod, _ []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	return nil, h.hang(ctx, "PreFilter", pod)
}
func (h *hanging) PreFilterExtensions() fwk.PreFilterExtensions { return nil }
func (h *hanging) Filter(ctx context.Context, _ fwk.CycleState, pod *v1.Pod, _ fwk.NodeInfo) *fwk.Status {
	return h.hang(ctx, "Filter", pod)
}
func (h *hanging) Score(ctx context.Context, _ fwk.CycleState, pod *v1.Pod, _ fwk.NodeInfo) (int64, *fwk.Status) {
	return 0, h.hang(ctx, "Score", pod)
}
func (h *hanging) ScoreExtensions() fwk.ScoreExtensions { return nil }
func (h *hanging) Reserve(ctx context.Context, _ fwk.CycleState, pod *v1.Pod, _ string) *fwk.Status {
	return h.hang(ctx, "Reserve", pod)
}
func (h *hanging) Unreserve(context.Context, fwk.CycleState, *v1.Pod, string) {}

// newHanging returns a running scheduler with pods called bad and good, and failures as they happen.
func newHanging(t *testing.T, plugin *hanging, parallelism int32) (*Scheduler, *fake.Clientset, *failureLog) {
	t.Helper()
	client := fake.NewClientset(objects.Node("n1").Capacity("cpu", "4", "memory", "8Gi").Build(), objects.Node("n2").Capacity("cpu", "4", "memory", "8Gi").Build())
	bindInTracker(client)
	f := &fixture{t: t}
	failures := &failureLog{}
	options := Options{Client: client, Informers: NewInformerFactory(client), Observers: Observers{Scheduler: failures}}
	options.Registry, options.Configuration = f.with(plugin, &cycleEnd{name: "Waiting", preBind: func(ctx context.Context, pod *v1.Pod) *fwk.Status {
		if pod.Name == "early" { // is in PreBind forever, which must not be taken for a cycle that is stuck
			<-ctx.Done()
		}
		return nil
	}})
	options.Configuration.Parallelism = parallelism
	bare(&options)
	s, err := New(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	start(t, s, options)
	for _, name := range []string{"early", "bad", "good"} {
		if err := client.Tracker().Add(objects.Pod(name).Requests("cpu", "1").Build()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		time.Sleep(time.Second)
	}
	return s, client, failures
}

// failureLog keeps failures.
type failureLog struct {
	NopObserver
	journal
}

func (l *failureLog) AttemptFailed(failure Failure) {
	l.write(failure.Pod.Name + ": " + failure.Status.AsError().Error())
}

// A plugin that heeds its context fails the pod, with its name, and the others go on.
func TestPluginThatHangsUntilItsContextEnds(t *testing.T) {
	for _, method := range []string{"PreFilter", "Filter", "Score", "Reserve"} {
		t.Run(method, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				plugin := &hanging{in: method, heeds: true, release: make(chan struct{})}
				s, client, failures := newHanging(t, plugin, 2)
				time.Sleep(90 * time.Second)
				waitForNode(t, client, "good")
				if err := s.Stuck(); err != nil {
					t.Errorf("stuck: %v, want that the cycle has ended", err)
				}
				close(plugin.release)
				waitForNode(t, client, "bad")
				want := `scheduling pod default/bad takes longer than 1m0s, in ` + method + ` of plugin "Hanging"`
				if len(failures.entries) == 0 || !strings.HasPrefix(failures.entries[0], "bad: ") || !strings.Contains(failures.entries[0], want) {
					t.Errorf("failures %q, want one with %s", failures.entries, want)
				}
			})
		})
	}
}

// A plugin that ignores its context can't be stopped, but it is said who it is, until it returns.
func TestPluginThatHangsForGood(t *testing.T) {
	for _, method := range []string{"PreFilter", "Filter", "Score", "Reserve"} {
		for _, parallelism := range []int32{1, 4} {
			t.Run(method, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					plugin := &hanging{in: method, release: make(chan struct{})}
					s, client, _ := newHanging(t, plugin, parallelism)
					time.Sleep(50 * time.Second)
					if err := s.Stuck(); err != nil {
						t.Errorf("stuck: %v, which is too early", err)
					}
					time.Sleep(time.Minute)
					var stuck *StuckError
					if err := s.Stuck(); !errors.As(err, &stuck) || stuck.Pod.Name != "bad" || len(stuck.Calls) != 1 ||
						stuck.Calls[0] != method+` of plugin "Hanging"` {
						t.Errorf("stuck: %v, want in %s of the plugin Hanging", err, method)
					}
					close(plugin.release)
					waitForNode(t, client, "bad")
					waitForNode(t, client, "good")
					if err := s.Stuck(); err != nil {
						t.Errorf("stuck: %v, want that it is over", err)
					}
				})
			})
		}
	}
}

func TestNoSchedulingTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _, _ := newRunning(t)
		s.watchdog.limit = -1
		done := make(chan struct{})
		go func() {
			s.watchSchedulingCycles(t.Context())
			close(done)
		}()
		synctest.Wait()
		select {
		case <-done:
		default:
			t.Error("cycles are watched")
		}
	})
}

// A plugin that ends the goroutine that it is called in, in the loop over nodes or outside of it, fails its pod; the scheduler
// goes on in another goroutine.
func TestPluginThatEndsItsGoroutine(t *testing.T) {
	for _, method := range []string{"PreFilter", "Filter", "Score", "Reserve"} {
		for _, parallelism := range []int32{1, 4} {
			t.Run(fmt.Sprint(method, " ", parallelism), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					plugin := &hanging{in: method, quits: true}
					_, client, failures := newHanging(t, plugin, parallelism)
					waitForNode(t, client, "good")
					want := `plugin "Hanging" failed in ` + method
					if len(failures.entries) == 0 || !strings.HasPrefix(failures.entries[0], "bad: ") || !strings.Contains(failures.entries[0], want) {
						t.Errorf("failures %q, want one with %s", failures.entries, want)
					}
				})
			})
		}
	}
}
