// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package volumebinding

import (
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// Metrics is told what goes wrong with volumes, if the metrics of the framework implement it. Its methods are called
// concurrently.
type Metrics interface {
	// StageFailed is called when a stage ended with an error: "predicate" is looking for volumes on a node, "assume" is
	// setting volumes aside, and "bind" is having volumes bound.
	StageFailed(stage string)
}

// The stages that a pod with volumes goes through.
const (
	// stageFilter is looking for volumes on a node.
	stageFilter = "predicate"
	// stageReserve is setting volumes aside.
	stageReserve = "assume"
	// stagePreBind is having volumes bound.
	stagePreBind = "bind"
)

// nopMetrics measures nothing.
type nopMetrics struct{}

// StageFailed implements Metrics.
func (nopMetrics) StageFailed(string) {}

// metricsOf returns the metrics of a framework, as far as they are about volumes. Other frameworks than this module's
// have none.
func metricsOf(handle fwk.Handle) Metrics {
	if extended, ok := handle.(framework.ExtendedHandle); ok {
		if metrics, ok := extended.Metrics().(Metrics); ok {
			return metrics
		}
	}
	return nopMetrics{}
}
