// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package metrics measures a scheduler with the metrics of kube-scheduler: the same names, types, labels, buckets and
// stability levels, so that dashboards and alerts for it work. docs/metrics.md lists them, as does [Definitions].
//
// [New] registers them in a registry of k8s.io/component-base/metrics. [Metrics.Attach] puts them into the options of a
// scheduler: they are told by the plugin framework (as its runtime.Metrics), by the scheduling queue (as its
// queue.Observer) and by the scheduler (as its scheduler.Observer). [Metrics.Run] does what happens once a second.
//
//	m, err := metrics.New(legacyregistry.Register, metrics.Options{})
//	...
//	m.Attach(&options)
//	s, err := scheduler.New(ctx, options)
//	...
//	go m.Run(ctx, s.Cache().Counts)
//
// Plugins reach the metrics through their handle, as described at runtime.Framework.Metrics; those for preemption and for
// volumes do.
//
// # Resets
//
// A registry can be reset, as kube-scheduler's is by a DELETE request for /metrics. Counters and histograms then start
// from zero; gauges keep their values.
//
// # Concurrency and cost
//
// Everything may be called concurrently. What is measured for every node or every queueing hint allocates nothing, and is
// recorded by [Metrics.Run] or takes no lock.
package metrics
