// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package preemption

import (
	"context"
	"errors"
	"fmt"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	listersv1 "k8s.io/client-go/listers/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/clock"
)

// evictor carries out what was decided. It is safe for concurrent use.
type evictor struct {
	plugin      string
	handle      fwk.Handle
	pods        listersv1.PodLister
	clock       clock.PassiveClock
	start       func(task func())
	synchronous bool
	metrics     Metrics

	mu sync.Mutex
	// running has the evictions that are under way, by UID of the pod that they are for; guarded by mu.
	running map[types.UID]*eviction
	// cancelled has the pods that were taken back before they were bound, as they were assumed, by UID; guarded by mu. They
	// count on their nodes until their binding cycles have noticed.
	cancelled map[types.UID]*v1.Pod
}

func newEvictor(options Options, pods listersv1.PodLister) *evictor {
	return &evictor{
		plugin:      options.PluginName,
		handle:      options.Handle,
		pods:        pods,
		clock:       clockOf(options.Handle),
		start:       starterOf(options.Handle),
		synchronous: options.Synchronous,
		metrics:     metricsOf(options.Handle),
		running:     map[types.UID]*eviction{},
		cancelled:   map[types.UID]*v1.Pod{},
	}
}

// eviction is pods that go from a node to make room for another.
type eviction struct {
	preemptor *v1.Pod
	node      string
	victims   []*v1.Pod // those that were not on their way out before
	// last is the victim that goes when the others are gone, from the moment when its turn has come. heldBack is set if the
	// preemptor was held back since an event last woke it. Both are guarded by the mutex of the evictor.
	last     *v1.Pod
	heldBack bool
}

// preempt evicts the victims and withdraws the nominations of less important pods for the node. Unless it is
// synchronous it only begins to, and what fails later makes the pod be tried again.
func (v *evictor) preempt(ctx context.Context, preemptor *v1.Pod, node string, victims []*v1.Pod) error {
	e := &eviction{preemptor: preemptor, node: node}
	for _, victim := range victims {
		if victim.DeletionTimestamp == nil && !v.wasCancelled(victim) {
			e.victims = append(e.victims, victim)
		}
	}
	if v.synchronous {
		return v.evictNow(ctx, e)
	}
	if len(e.victims) == 0 {
		return nil
	}
	v.mu.Lock()
	v.running[preemptor.UID] = e
	v.mu.Unlock()
	background := context.WithoutCancel(ctx) // the scheduling cycle is over before the victims are gone
	v.start(func() { v.evictInBackground(background, e) })
	return nil
}

func (v *evictor) evictNow(ctx context.Context, e *eviction) error {
	if err := v.evictAll(ctx, e, e.victims); err != nil {
		return err
	}
	if err := v.clearNominations(ctx, e); err != nil {
		klog.FromContext(ctx).Error(err, "Withdrawing nominations failed", "pod", klog.KObj(e.preemptor), "node", e.node)
	}
	return nil
}

// evictInBackground leaves one victim for the end, and lets go of the preemptor as soon as that one is on its way out. It
// is the deletion of victims that brings the preemptor back into the queue. Where none may come after this, because the
// last victim was not deleted through the API or was deleted before, the preemptor is activated, and also if an event would
// have brought it back while it was held back.
func (v *evictor) evictInBackground(ctx context.Context, e *eviction) {
	logger := klog.FromContext(ctx)
	started := v.clock.Now()
	clearErr := v.clearNominations(ctx, e)
	if clearErr != nil { // not a reason to keep the victims
		logger.Error(clearErr, "Withdrawing nominations failed", "pod", klog.KObj(e.preemptor), "node", e.node)
	}
	rest, last := e.victims[:len(e.victims)-1], e.victims[len(e.victims)-1]
	deleted := false
	err := v.evictAll(ctx, e, rest)
	if err == nil {
		v.mu.Lock()
		e.last = last
		v.mu.Unlock()
		deleted, err = v.evict(ctx, e, last)
	}
	if err != nil {
		logger.Error(err, "Preempting pods failed; trying again to schedule the pod that they make room for",
			"pod", klog.KObj(e.preemptor), "node", e.node)
	}
	v.mu.Lock()
	if v.running[e.preemptor.UID] == e { // otherwise the pod was released, tried again, and preempts again
		delete(v.running, e.preemptor.UID)
	}
	heldBack := e.heldBack
	v.mu.Unlock()
	err = errors.Join(clearErr, err)
	v.metrics.EvictionEnded(err, v.clock.Since(started))
	if err != nil || !deleted || heldBack {
		v.handle.Activate(logger, map[string]*v1.Pod{podKey(e.preemptor): e.preemptor})
	}
}

// holdBack reports whether the evictions for a pod that is to be tried have not come so far that it may be: the last victim is
// not deleted yet, as the informer has it.
func (v *evictor) holdBack(preemptor types.UID) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	e := v.running[preemptor]
	if e == nil {
		return false
	}
	e.heldBack = true
	if e.last != nil {
		last := v.known(e.last)
		e.heldBack = last != nil && last.DeletionTimestamp == nil
	}
	return e.heldBack
}

// known returns a pod as the informer has it, nil if it is gone.
func (v *evictor) known(pod *v1.Pod) *v1.Pod {
	current, err := v.pods.Pods(pod.Namespace).Get(pod.Name)
	if err != nil || current.UID != pod.UID {
		return nil
	}
	return current
}

// evictAll evicts pods in parallel. After an error no further eviction begins; the error is the first.
func (v *evictor) evictAll(ctx context.Context, e *eviction, victims []*v1.Pod) error {
	evicting, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	v.handle.Parallelizer().Until(evicting, len(victims), func(i int) {
		if _, err := v.evict(ctx, e, victims[i]); err != nil {
			stop(err)
		}
	}, v.plugin)
	return context.Cause(evicting)
}

// evict cancels the binding of a pod that is not bound yet, and has any other deleted by the API server. It
// reports whether that deletes it now.
func (v *evictor) evict(ctx context.Context, e *eviction, victim *v1.Pod) (deleted bool, err error) {
	note := fmt.Sprintf("Preempted by pod %s on node %s", e.preemptor.UID, e.node)
	if v.cancelInMemory(victim) {
		note += " (in kube-scheduler memory)."
	} else if deleted, err = v.delete(ctx, e.preemptor, victim); !deleted {
		return false, err
	}
	klog.FromContext(ctx).V(2).Info("Preempted a pod", "victim", klog.KObj(victim), "pod", klog.KObj(e.preemptor),
		"node", e.node, "inMemory", !deleted)
	v.handle.EventRecorder().Eventf(victim, e.preemptor, v1.EventTypeNormal, "Preempted", "Preempting", "%s", note)
	return deleted, nil
}

// cancelInMemory stops a pod that waits for permission or is about to be bound, so that it goes back to the queue. It returns
// false for any other pod.
func (v *evictor) cancelInMemory(victim *v1.Pod) bool {
	cancelled := false
	if waiting := v.handle.GetWaitingPod(victim.UID); waiting != nil {
		cancelled = waiting.Preempt(v.plugin, "preempted")
	} else if binding := v.handle.GetPodInPreBind(victim.UID); binding != nil {
		cancelled = binding.CancelPod("preempted by " + v.plugin)
	}
	if cancelled {
		v.remember(victim)
	}
	return cancelled
}

// remember notes that a pod was taken back, and forgets those that have a node or are gone by now.
func (v *evictor) remember(cancelled *v1.Pod) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for uid, pod := range v.cancelled {
		if current, err := v.pods.Pods(pod.Namespace).Get(pod.Name); err != nil || current.UID != uid || current.Spec.NodeName != "" {
			delete(v.cancelled, uid)
		}
	}
	v.cancelled[cancelled.UID] = cancelled
}

// wasCancelled reports whether a pod was taken back since it was assumed. Then it leaves its node without more being done, and
// must not be deleted: it goes back to the queue. One that another client has bound meanwhile stays, and must be.
func (v *evictor) wasCancelled(victim *v1.Pod) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.cancelled[victim.UID] != victim {
		return false
	}
	known := v.known(victim)
	return known == nil || known.Spec.NodeName == ""
}
