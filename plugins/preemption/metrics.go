// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package preemption

import (
	"time"

	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// Metrics is told what preemption does, if the metrics of the framework implement it. Its methods are called concurrently.
type Metrics interface {
	// PreemptionAttempted is called for every attempt to preempt for a pod.
	PreemptionAttempted()
	// VictimsChosen is called when pods are about to be evicted for another, with their number.
	VictimsChosen(count int)
	// EvictionEnded is called when victims were evicted in the background, with how long all of them took together; the
	// error is nil unless something went wrong.
	EvictionEnded(err error, duration time.Duration)
}

// nopMetrics measures nothing.
type nopMetrics struct{}

// PreemptionAttempted implements Metrics.
func (nopMetrics) PreemptionAttempted() {}

// VictimsChosen implements Metrics.
func (nopMetrics) VictimsChosen(int) {}

// EvictionEnded implements Metrics.
func (nopMetrics) EvictionEnded(error, time.Duration) {}

// metricsOf returns the metrics of the handle, as far as they are about preemption, or metrics that measure nothing.
func metricsOf(handle fwk.Handle) Metrics {
	if extended, ok := handle.(framework.ExtendedHandle); ok {
		if metrics, ok := extended.Metrics().(Metrics); ok {
			return metrics
		}
	}
	return nopMetrics{}
}
