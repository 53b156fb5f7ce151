// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"time"

	basemetrics "k8s.io/component-base/metrics"

	"github.com/rouse-scheduler/rouse/runtime"
)

// ExtensionPointDuration implements runtime.Metrics.
func (m *recorder) ExtensionPointDuration(point runtime.Method, status, profile string, duration time.Duration) {
	m.pointDurations.observe(labels{string(point), status, profile}, duration.Seconds())
}

// PluginDuration implements runtime.Metrics.
func (m *recorder) PluginDuration(plugin string, method runtime.Method, status string, duration time.Duration) {
	m.buffer.add(measurement{m.pluginDurations, labels{plugin, string(method), status}, duration.Seconds()})
}

// PluginEvaluations implements runtime.Metrics.
func (m *recorder) PluginEvaluations(plugin string, point runtime.Method, profile string) runtime.Counter {
	return evaluations{m.evaluations.series.pin(labels{plugin, string(point), profile})}
}

type evaluations struct {
	*pinned[basemetrics.CounterMetric]
}

// Inc implements runtime.Counter.
func (e evaluations) Inc() { e.get().Inc() }

// PermitWait implements runtime.Metrics.
func (m *recorder) PermitWait(result string, duration time.Duration) {
	m.permitWaits.observe(labels{result}, duration.Seconds())
}

// Goroutines implements runtime.Metrics.
func (m *recorder) Goroutines(operation string, change int) {
	m.goroutines.change(labels{operation}, change)
}

// VerdictCacheBytes implements runtime.VerdictCacheMetrics.
func (m *recorder) VerdictCacheBytes(bytes int) {
	m.verdictCaches.of(labels{}).set(bytes)
}

// PreemptionAttempted implements preemption.Metrics.
func (m *recorder) PreemptionAttempted() { m.preemptions.get().Inc() }

// VictimsChosen implements preemption.Metrics.
func (m *recorder) VictimsChosen(count int) { m.victims.get().Observe(float64(count)) }

// EvictionEnded implements preemption.Metrics.
func (m *recorder) EvictionEnded(err error, duration time.Duration) {
	result := "success"
	if err != nil {
		result = "error"
	}
	m.evictions.increment(labels{result})
	m.evictionDurations.observe(labels{result}, duration.Seconds())
}

// StageFailed implements volumebinding.Metrics.
func (m *recorder) StageFailed(stage string) { m.volumeErrors.increment(labels{stage}) }

// ClaimCreated implements dynamicresources.Metrics.
func (m *recorder) ClaimCreated(err error) {
	status := "success"
	if err != nil {
		status = "failure"
	}
	m.claimsCreated.increment(labels{status, "false", "", "Pod"})
}

// DevicesBound implements dynamicresources.Metrics.
func (m *recorder) DevicesBound(profile string, drivers []string, outcome string, waited time.Duration) {
	for _, driver := range drivers {
		series := labels{profile, driver, outcome}
		m.devicesBound.increment(series)
		m.deviceWaits.observe(series, waited.Seconds())
	}
}
