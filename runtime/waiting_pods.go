// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/clock"
)

// waitingPods is the pods that wait for permission to be bound. All profiles of a scheduler share one. It is safe for
// concurrent use.
type waitingPods struct {
	mu    sync.RWMutex
	pods  map[types.UID]*waitingPod // guarded by mu
	added int                       // guarded by mu; counts
}

// newWaitingPods returns an empty set.
func newWaitingPods() *waitingPods {
	return &waitingPods{pods: map[types.UID]*waitingPod{}}
}

// iterate calls visit for every pod that waits when it is called, those first that have waited longest. visit may do
// anything; a pod about which it decides may end waiting meanwhile.
func (w *waitingPods) iterate(visit func(fwk.WaitingPod)) {
	w.mu.RLock()
	pods := slices.Collect(maps.Values(w.pods))
	w.mu.RUnlock()
	slices.SortFunc(pods, func(a, b *waitingPod) int { return cmp.Compare(a.order, b.order) })
	for _, pod := range pods {
		visit(pod)
	}
}

// pod returns a waiting pod, or nil.
func (w *waitingPods) pod(uid types.UID) fwk.WaitingPod {
	if pod := w.find(uid); pod != nil {
		return pod
	}
	return nil
}

func (w *waitingPods) find(uid types.UID) *waitingPod {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.pods[uid]
}

func (w *waitingPods) add(pod *waitingPod) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.added++
	pod.order = w.added
	w.pods[pod.pod.UID] = pod
}

// remove forgets a pod, unless it has begun to wait again.
func (w *waitingPods) remove(pod *waitingPod) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.pods[pod.pod.UID] == pod {
		delete(w.pods, pod.pod.UID)
	}
}

var _ fwk.WaitingPod = &waitingPod{}

// waitingPod is a pod that waits until all its plugins allow it, or one of them rejects it or runs out of time. What
// comes first decides; what comes later changes nothing.
type waitingPod struct {
	pod    *v1.Pod
	order  int // among all pods that ever waited
	clock  clock.WithDelayedExecution
	timers map[string]clock.Timer // by plugin; filled when the pod begins to wait
	// decided is closed when the decision was made.
	decided chan struct{}

	mu      sync.Mutex
	pending sets.Set[string] // plugins that have not allowed the pod
	over    bool
	status  *fwk.Status // the decision
	at      time.Time   // when it fell
	waiters []func()    // to be called after it
}

// newWaitingPod starts the timers of a pod, in the order of the names, so that of two equal timeouts always the same
// comes first.
func newWaitingPod(pod *v1.Pod, timeouts map[string]time.Duration, timing clock.WithDelayedExecution) *waitingPod {
	w := &waitingPod{
		pod:     pod,
		clock:   timing,
		timers:  make(map[string]clock.Timer, len(timeouts)),
		decided: make(chan struct{}),
		pending: sets.KeySet(timeouts),
	}
	start := timing.Now()
	for _, plugin := range sets.List(w.pending) {
		timeout := timeouts[plugin]
		deadline := start.Add(timeout)
		w.timers[plugin] = timing.AfterFunc(timeout, func() { w.timeOut(plugin, timeout, deadline) })
	}
	return w
}

// decide ends the waiting if it is not over and the condition, which is checked under the lock, holds.
func (w *waitingPod) decide(status *fwk.Status, at time.Time, condition func() bool) bool {
	w.mu.Lock()
	if w.over || !condition() {
		w.mu.Unlock()
		return false
	}
	w.over, w.status, w.at = true, status, at
	waiters := w.waiters
	w.waiters = nil
	close(w.decided)
	w.mu.Unlock()
	for _, call := range waiters {
		call()
	}
	return true
}

// timeOut is called by the timer of a plugin. A fake clock calls it under its own lock, so it must not use the
// clock: the timers of other plugins are left to fire in vain.
func (w *waitingPod) timeOut(plugin string, timeout time.Duration, deadline time.Time) {
	message := fmt.Sprintf("rejected due to timeout after waiting %v at plugin %v", timeout, plugin)
	status := fwk.NewStatus(fwk.Unschedulable, message).WithPlugin(plugin)
	w.decide(status, deadline, func() bool { return w.pending.Has(plugin) })
}

// GetPod implements fwk.WaitingPod.
func (w *waitingPod) GetPod() *v1.Pod { return w.pod }

// GetPendingPlugins implements fwk.WaitingPod: the plugins that have not allowed the pod, by name.
func (w *waitingPod) GetPendingPlugins() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return sets.List(w.pending)
}

// Allow implements fwk.WaitingPod.
func (w *waitingPod) Allow(plugin string) {
	if timer := w.timers[plugin]; timer != nil {
		timer.Stop()
	}
	w.decide(nil, w.clock.Now(), func() bool {
		w.pending.Delete(plugin)
		return len(w.pending) == 0
	})
}

// Reject implements fwk.WaitingPod. It returns false if the decision was made before.
func (w *waitingPod) Reject(plugin, message string) bool {
	return w.turnDown(fwk.NewStatus(fwk.Unschedulable, message).WithPlugin(plugin))
}

// Preempt implements fwk.WaitingPod. It returns false if the decision was made before.
func (w *waitingPod) Preempt(plugin, message string) bool {
	return w.turnDown(fwk.NewStatus(fwk.Error, message).WithPlugin(plugin))
}

func (w *waitingPod) turnDown(status *fwk.Status) bool {
	for _, timer := range w.timers {
		timer.Stop()
	}
	return w.decide(status, w.clock.Now(), func() bool { return true })
}

// onDecision calls back after the decision, or at once if it was made before.
func (w *waitingPod) onDecision(call func()) {
	w.mu.Lock()
	over := w.over
	if !over {
		w.waiters = append(w.waiters, call)
	}
	w.mu.Unlock()
	if over {
		call()
	}
}

// decision returns the status and the time of a decision that was made.
func (w *waitingPod) decision() (*fwk.Status, time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.status, w.at
}
