// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	componentmetrics "k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"  // requests, informers and leader election
	_ "k8s.io/component-base/metrics/prometheus/version"   // kubernetes_build_info
	_ "k8s.io/component-base/metrics/prometheus/workqueue" // of the controllers for certificates
	"k8s.io/klog/v2"

	"github.com/rouse-scheduler/rouse/scheduler"
	"github.com/rouse-scheduler/rouse/scheduler/metrics"
)

// measure has a scheduler measured in the registry of the process; the result is nil if that measures another one.
func measure(logger klog.Logger, options *scheduler.Options) *metrics.Metrics {
	measured, err := metrics.New(legacyregistry.Register, metrics.Options{})
	if err != nil {
		logger.Info("Warning: this scheduler has no metrics; another one in this process seems to have registered them")
		logger.V(2).Info("Metrics cannot be registered", "err", err)
		return nil
	}
	measured.Attach(options)
	return measured
}

// applyMetrics applies what the flags say about metrics, and nothing of what they do not mention: the library logs an
// error about a manifest of allowed labels that no flag names.
func applyMetrics(o *componentmetrics.Options) {
	if o.AllowListMapping != nil || o.AllowListMappingManifest != "" {
		o.Apply()
		return
	}
	if o.ShowHiddenMetricsForVersion != "" {
		componentmetrics.SetShowHidden()
	}
	componentmetrics.SetDisabledMetrics(o.DisabledMetrics)
}
