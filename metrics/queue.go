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
func (m *Metrics) PodMoved(move queue.PodMove) {
	if move.From != move.To {
		m.countPool(move.From, -1)
		m.countPool(move.To, 1)
	}
	m.countRejectors(move)
	if queued(move.To) && move.From != move.To && !(waits(move.From) && waits(move.To)) {
		m.incomingPods.increment(labels{string(move.To), move.Cause})
		m.incomingEntities.increment(labels{string(move.To), move.Cause, podType})
	}
}

func (m *Metrics) countPool(pool queue.Pool, by int) {
	if counted, ok := m.pools[pool]; ok {
		counted.pods.change(by)
		counted.entities.change(by)
	}
}

func (m *Metrics) countRejectors(move queue.PodMove) {
	profile := move.Pod.Pod.Spec.SchedulerName
	switch {
	case !queued(move.From) && queued(move.To):
		m.changeRejectors(move.Pod, profile, 1)
	case queued(move.From) && !queued(move.To):
		m.changeRejectors(move.Pod, profile, -1)
	case move.NewRejector != "":
		m.unschedulablePods.change(labels{move.NewRejector, profile}, 1)
	}
}

func (m *Metrics) changeRejectors(pod *framework.QueuedPodInfo, profile string, by int) {
	for plugin := range pod.UnschedulablePlugins {
		m.unschedulablePods.change(labels{plugin, profile}, by)
	}
	for plugin := range pod.PendingPlugins {
		if !pod.UnschedulablePlugins.Has(plugin) {
			m.unschedulablePods.change(labels{plugin, profile}, by)
		}
	}
}

// queued tells whether the pods of a pool are in the queue, and not on their way.
func queued(pool queue.Pool) bool { return pool != queue.PoolNone && pool != queue.PoolInFlight }

// waits tells whether the pods of a pool wait for an event.
func waits(pool queue.Pool) bool { return pool == queue.PoolUnschedulable || pool == queue.PoolGated }

// HintEvaluated implements queue.Observer.
func (m *Metrics) HintEvaluated(result queue.HintResult) {
	hint := "Error"
	if result.Err == nil {
		hint = result.Hint.String()
	}
	m.buffer.add(measurement{m.hintDurations, labels{result.Plugin, result.Event, hint}, result.Duration.Seconds()})
}

// GatesAsked implements queue.Observer. A closed gate is a success of the extension point.
func (m *Metrics) GatesAsked(profile, _ string, duration time.Duration) {
	m.ExtensionPointDuration(runtime.MethodPreEnqueue, fwk.Success.String(), profile, duration)
}

// EventNarrowed implements queue.Observer.
func (m *Metrics) EventNarrowed(plugin string, narrowed bool) {
	result := "all_pods"
	if narrowed {
		result = "narrowed"
	}
	m.narrowings.increment(labels{plugin, result})
}

// InFlightEvents implements queue.Observer.
func (m *Metrics) InFlightEvents(event string, delta int) {
	m.inFlightEvents.change(labels{event}, delta)
}
