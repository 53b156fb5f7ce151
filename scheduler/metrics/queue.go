// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"time"

	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/queue"
	"github.com/rouse-scheduler/rouse/runtime"
)

// podType is the value of the label type. It is the only one, as pod groups are not queued as such.
const podType = string(fwk.PodKeyType)

// poolGauges count the pods of one pool.
type poolGauges struct{ pods, entities *gauge }

// poolsOf makes the gauges of all pools, so that an empty one shows as zero.
func poolsOf(pods, entities *gauges) map[queue.Pool]poolGauges {
	pools := map[queue.Pool]poolGauges{}
	for _, pool := range []queue.Pool{queue.PoolActive, queue.PoolBackoff, queue.PoolUnschedulable, queue.PoolGated} {
		pools[pool] = poolGauges{pods.of(labels{string(pool)}), entities.of(labels{string(pool), podType})}
	}
	for _, ofGroups := range []string{"incomplete", "pending"} {
		pods.of(labels{ofGroups})
	}
	return pools
}

// PodMoved implements queue.Observer.
func (m *recorder) PodMoved(move queue.PodMove) {
	m.countRejectors(&move)
	m.countMoves(&move, 1)
}

// PodsMoved implements queue.BatchObserver. Moves that follow each other and are alike are counted as one.
func (m *recorder) PodsMoved(moves []queue.PodMove) {
	first := 0
	for i := range moves {
		m.countRejectors(&moves[i])
		if last := i == len(moves)-1; last || !alike(&moves[i], &moves[i+1]) {
			m.countMoves(&moves[i], i+1-first)
			first = i + 1
		}
	}
}

func alike(a, b *queue.PodMove) bool { return a.To == b.To && a.From == b.From && a.Cause == b.Cause }

// countMoves counts how many pods are in pools and come into them, after so many moves like the given one.
func (m *recorder) countMoves(move *queue.PodMove, count int) {
	if move.From == move.To {
		return
	}
	m.countPool(move.From, -count)
	m.countPool(move.To, count)
	if queued(move.To) && !(waits(move.From) && waits(move.To)) {
		m.incomingPods.add(labels{incomingPool(move.To), move.Cause}, count)
		m.incomingEntities.add(labels{incomingPool(move.To), move.Cause, podType}, count)
	}
}

// incomingPool is the label of the pool that pods come into: gated ones come into that of unschedulable pods.
func incomingPool(pool queue.Pool) string {
	if pool == queue.PoolGated {
		pool = queue.PoolUnschedulable
	}
	return string(pool)
}

func (m *recorder) countPool(pool queue.Pool, by int) {
	if counted, ok := m.pools[pool]; ok {
		counted.pods.change(by)
		counted.entities.change(by)
	}
}

func (m *recorder) countRejectors(move *queue.PodMove) {
	switch {
	case !queued(move.From) && queued(move.To):
		m.changeRejectors(move.Pod, 1)
	case queued(move.From) && !queued(move.To):
		m.changeRejectors(move.Pod, -1)
	case move.NewRejector != "":
		m.unschedulablePods.change(labels{move.NewRejector, move.Pod.Pod.Spec.SchedulerName}, 1)
	}
}

func (m *recorder) changeRejectors(pod *framework.QueuedPodInfo, by int) {
	profile := pod.Pod.Spec.SchedulerName
	for plugin := range pod.UnschedulablePlugins {
		m.unschedulablePods.change(labels{plugin, profile}, by)
	}
	for plugin := range pod.PendingPlugins {
		if !pod.UnschedulablePlugins.Has(plugin) {
			m.unschedulablePods.change(labels{plugin, profile}, by)
		}
	}
}

// queued reports whether the pods of a pool are in the queue, and not on their way.
func queued(pool queue.Pool) bool { return pool != queue.PoolNone && pool != queue.PoolInFlight }

// waits reports whether the pods of a pool wait for an event.
func waits(pool queue.Pool) bool { return pool == queue.PoolUnschedulable || pool == queue.PoolGated }

// HintEvaluated implements queue.Observer.
func (m *recorder) HintEvaluated(result queue.HintResult) {
	hint := "Error"
	if result.Err == nil {
		hint = result.Hint.String()
	}
	m.buffer.add(measurement{m.hintDurations, labels{result.Plugin, result.Event, hint}, result.Duration.Seconds()})
}

// PreEnqueueRan implements queue.Observer. A rejection counts as a success of the extension point, as in
// kube-scheduler.
func (m *recorder) PreEnqueueRan(profile, _ string, duration time.Duration) {
	m.preEnqueueDuration.of(&m.pointDurations.series, labels{string(runtime.MethodPreEnqueue), fwk.Success.String(), profile}).Observe(duration.Seconds())
}

// EventNarrowed implements queue.Observer.
func (m *recorder) EventNarrowed(plugin string, narrowed bool) {
	result := "all_pods"
	if narrowed {
		result = "narrowed"
	}
	m.narrowings.increment(labels{plugin, result})
}

// InFlightEvents implements queue.Observer.
func (m *recorder) InFlightEvents(event string, delta int) {
	m.inFlightEvents.change(labels{event}, delta)
}
