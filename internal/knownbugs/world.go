// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package knownbugs

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/events"
)

// settled is longer than anything takes that a sequence did not make slow.
const settled = 100 * time.Millisecond

// Start builds a scheduler and runs it until the context ends. It returns when everything that exists has been seen.
type Start func(ctx context.Context, t *testing.T, parts Parts) Scheduler

// Parts are what a scheduler is built from: the default profile and some more plugins.
type Parts struct {
	Client   clientset.Interface
	Plugins  []*Plugin
	Recorder events.EventRecorderLogger
}

// Scheduler is what a sequence may ask the scheduler that it is played on.
type Scheduler struct {
	// InFlight returns how many pods were popped, and are neither back in the queue nor done.
	InFlight func() int
	// Wait returns when all goroutines of the scheduler have ended, after its context did.
	Wait func()
}

// World is an API server and a scheduler, in a bubble of virtual time.
type World struct {
	*api
	t       *testing.T
	ctx     context.Context
	plugins []*Plugin
	// OnEvent is called when the scheduler writes an event about a pod; the scheduler waits for it to return.
	OnEvent   func(pod, reason string)
	Scheduler Scheduler
}

// Play plays a sequence in a bubble of its own, and returns what went wrong; nil if the scheduler does not have the bug.
func (b Bug) Play(t *testing.T, start Start) (outcome error) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		w := &World{api: newAPI(), t: t, ctx: ctx}
		defer func() {
			w.Release()
			cancel()
			if w.Scheduler.Wait != nil {
				w.Scheduler.Wait()
			}
			time.Sleep(time.Hour) // until the last request is answered
		}()
		outcome = b.play(w, func() {
			w.Scheduler = start(ctx, t, Parts{Client: w.client(), Plugins: w.plugins, Recorder: &recorder{w}})
		})
	})
	return outcome
}

// With adds a plugin to the profile. It must be called before the scheduler starts.
func (w *World) With(plugin *Plugin) *Plugin {
	w.plugins = append(w.plugins, plugin)
	return plugin
}

// Settle lets everything happen that happens at once.
func (w *World) Settle() { w.After(settled) }

// After lets time pass.
func (w *World) After(duration time.Duration) {
	time.Sleep(duration)
	synctest.Wait()
}

// Create creates objects in the API, and lets the scheduler see them.
func (w *World) Create(created ...apiruntime.Object) {
	w.t.Helper()
	for _, object := range created {
		if err := w.fake.Tracker().Add(object.DeepCopyObject()); err != nil {
			w.t.Fatal(err)
		}
		w.Settle()
	}
}

// Update changes a pod in the API, as other clients do.
func (w *World) Update(name string, change func(*v1.Pod)) {
	w.t.Helper()
	w.change(name, change)
	w.Settle()
}

// change is Update for plugins, which must not wait for the scheduler to settle.
func (w *World) change(name string, change func(*v1.Pod)) {
	pod := w.Pod(name)
	change(pod)
	if err := w.update(pod); err != nil {
		w.t.Error(err)
	}
}

// UpdateNode changes a node.
func (w *World) UpdateNode(name string, change func(*v1.Node)) {
	w.t.Helper()
	node, err := w.fake.CoreV1().Nodes().Get(w.ctx, name, metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	change(node)
	if err := w.update(node); err != nil {
		w.t.Fatal(err)
	}
	w.Settle()
}

// Delete deletes a pod at once, as other clients do.
func (w *World) Delete(name string) {
	w.t.Helper()
	if err := w.fake.Tracker().Delete(podsResource(), metav1.NamespaceDefault, name); err != nil {
		w.t.Fatal(err)
	}
	w.Settle()
}

// Pod returns a pod as the API has it.
func (w *World) Pod(name string) *v1.Pod {
	w.t.Helper()
	pod, err := w.fake.CoreV1().Pods(metav1.NamespaceDefault).Get(w.ctx, name, metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return pod
}

// patience is how long a pod may take that nothing holds up: its backoff, and what the sequences make slow.
const patience = 30 * time.Second

// Bound returns an error unless a pod is bound in time.
func (w *World) Bound(name string) error { return w.BoundWithin(name, patience) }

// BoundWithin is Bound with another limit. The error says when the pod was bound.
func (w *World) BoundWithin(name string, limit time.Duration) error {
	const step, giveUp = time.Second / 4, 20 * time.Minute
	for waited := time.Duration(0); waited < giveUp; waited += step {
		if w.Pod(name).Spec.NodeName != "" {
			if waited > limit {
				return fmt.Errorf("pod %s was bound after %v only", name, waited.Round(time.Second))
			}
			return nil
		}
		w.After(step)
	}
	return fmt.Errorf("pod %s was not bound in %v", name, giveUp)
}

// Waits fails the test unless a pod has no node.
func (w *World) Waits(names ...string) {
	w.t.Helper()
	for _, name := range names {
		if node := w.Pod(name).Spec.NodeName; node != "" {
			w.t.Fatalf("pod %s is on %s already; the sequence needs it to wait", name, node)
		}
	}
}

// NothingInFlight returns an error if the scheduler still keeps events for some pod.
func (w *World) NothingInFlight() error {
	w.Settle()
	if pods := w.Scheduler.InFlight(); pods > 0 {
		return fmt.Errorf("%d pods count as in flight although nothing is being scheduled: every event from now on is kept for them", pods)
	}
	return nil
}

// Latch is what something waits for.
type Latch struct {
	once sync.Once
	open chan struct{}
}

// NewLatch returns a closed latch. It must be called in the bubble.
func NewLatch() *Latch { return &Latch{open: make(chan struct{})} }

// Open lets everybody go on.
func (l *Latch) Open() { l.once.Do(func() { close(l.open) }) }

// Wait returns when the latch is open.
func (l *Latch) Wait() { <-l.open }
