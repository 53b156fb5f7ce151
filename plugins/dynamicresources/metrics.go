// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package dynamicresources

import (
	"time"

	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// Metrics is told what becomes of devices, if the metrics of the framework implement it. Its methods are called
// concurrently.
type Metrics interface {
	// ClaimCreated is called when a claim for extended resources was created, or could not be.
	ClaimCreated(err error)
	// DevicesBound is called when the wait for devices to be ready ended, with the name of the profile, the drivers of the
	// devices, each once, and how it ended: success, failure or timeout.
	DevicesBound(profile string, drivers []string, outcome string, waited time.Duration)
}

// nopMetrics measures nothing.
type nopMetrics struct{}

// ClaimCreated implements Metrics.
func (nopMetrics) ClaimCreated(error) {}

// DevicesBound implements Metrics.
func (nopMetrics) DevicesBound(string, []string, string, time.Duration) {}

// metricsOf returns the metrics of a framework, as far as they are about devices. Other frameworks than this module's have
// none.
func metricsOf(handle fwk.Handle) Metrics {
	if extended, ok := handle.(framework.ExtendedHandle); ok {
		if metrics, ok := extended.Metrics().(Metrics); ok {
			return metrics
		}
	}
	return nopMetrics{}
}
