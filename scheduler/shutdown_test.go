// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// closing is a plugin of the binding cycle that notes when it is closed.
type closing struct {
	cycleEnd
	closed func()
}

func (c *closing) Close() error {
	c.closed()
	return nil
}

// journal keeps what happened, in order.
type journal struct {
	mu      sync.Mutex
	entries []string
}

func (j *journal) write(entry string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.entries = append(j.entries, entry)
}

// newRunning returns a scheduler against a fake API that has one node and one pod, ready to be run, and its recorder.
func newRunning(t *testing.T, extra ...fwk.Plugin) (*Scheduler, Options, *events.FakeRecorder) {
	t.Helper()
	client := fake.NewClientset(objects.Node("n1").Capacity("cpu", "4", "memory", "8Gi").Build(), objects.Pod("a").Requests("cpu", "1").Build())
	bindInTracker(client)
	recorder := events.NewFakeRecorder(100)
	f := &fixture{t: t}
	options := Options{
		Client:    client,
		Informers: NewInformerFactory(client),
		Recorder:  func(string) events.EventRecorderLogger { return recorder },
	}
	options.Registry, options.Configuration = f.with(extra...)
	bare(&options)
	s, err := New(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	return s, options, recorder
}

func TestRunWaitsForBindings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var happened journal
		plugin := &closing{closed: func() { happened.write("closed") }}
		plugin.name = "P"
		plugin.preBind = func(ctx context.Context, _ *v1.Pod) *fwk.Status {
			happened.write("begins to bind")
			<-ctx.Done()
			time.Sleep(time.Second) // cleans up
			happened.write("gives up")
			return fwk.AsStatus(ctx.Err())
		}
		s, options, recorder := newRunning(t, plugin)
		stop := start(t, s, options)
		synctest.Wait()
		stop()
		if diff := cmp.Diff([]string{"begins to bind", "gives up", "closed"}, happened.entries); diff != "" {
			t.Errorf("what happened (-want +got):\n%s", diff)
		}
		if len(recorder.Events) > 0 {
			t.Errorf("event %q, want none about a pod whose binding was only cut short", <-recorder.Events)
		}
		if counts := s.Cache().Counts(); counts.AssumedPods != 0 {
			t.Errorf("%d pods are assumed, want none", counts.AssumedPods)
		}
	})
}

func TestRunTurnsDownPodsThatWaitForPermission(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := &scripted{name: "Gate", permit: waits(time.Minute)}
		s, options, recorder := newRunning(t, gate)
		stop := start(t, s, options)
		synctest.Wait()
		profile := s.Profiles()["default-scheduler"]
		if profile.GetWaitingPod("default/a") == nil {
			t.Fatal("the pod does not wait")
		}
		began := time.Now()
		stop()
		if took := time.Since(began); took > 0 {
			t.Errorf("Run took %v to end", took)
		}
		if profile.GetWaitingPod("default/a") != nil {
			t.Error("the pod still waits")
		}
		if gate.unreserved["a"] != 1 {
			t.Errorf("Unreserve was called %d times, want once", gate.unreserved["a"])
		}
		if len(recorder.Events) > 0 {
			t.Errorf("event %q, want none", <-recorder.Events)
		}
	})
}

// Pods that are ready when the scheduler ends are not tried with a context that has ended: they would all seem to fit
// nowhere.
func TestRunLeavesReadyPodsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var tried []string
		s, options, recorder := newRunning(t, &scripted{name: "P", pre: func(pod *v1.Pod) (*fwk.PreFilterResult, *fwk.Status) {
			tried = append(tried, pod.Name)
			cancel()
			return nil, nil
		}})
		for _, name := range []string{"a", "b", "c"} {
			s.podAdded(objects.Pod(name).Requests("cpu", "1").Build())
		}
		s.nodeAdded(objects.Node("n1").Capacity("cpu", "4", "memory", "8Gi").Build())
		if err := s.Run(ctx); err != nil {
			t.Errorf("Run returned %v", err)
		}
		if diff := cmp.Diff([]string{"a"}, tried); diff != "" {
			t.Errorf("pods that were tried (-want +got):\n%s", diff)
		}
		if len(recorder.Events) > 0 {
			t.Errorf("event %q, want none", <-recorder.Events)
		}
		for _, action := range options.Client.(*fake.Clientset).Actions() {
			if action.GetVerb() == "patch" || action.GetVerb() == "create" {
				t.Errorf("wrote to the API: %v", action)
			}
		}
	})
}

func TestRunEndsWithTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _, _ := newRunning(t)
		s.options.Timeouts.AssumedPod = time.Minute // has a loop of its own
		s.Queue().Close()
		if err := s.Run(t.Context()); err != nil {
			t.Errorf("Run returned %v", err)
		}
	})
}

func TestRunReturnsTheErrorsOfPlugins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _, _ := newRunning(t, failsToClose{})
		s.Queue().Close()
		if err := s.Run(t.Context()); !errors.Is(err, errStuck) {
			t.Errorf("error %v, want %v", err, errStuck)
		}
	})
}

var errStuck = errors.New("stuck")

type failsToClose struct{ filters }

func (failsToClose) Close() error { return errStuck }
