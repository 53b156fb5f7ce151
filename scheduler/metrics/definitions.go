// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"slices"

	basemetrics "k8s.io/component-base/metrics"
)

// Kind is what a metric measures.
type Kind string

// The kinds of metrics.
const (
	Counter   Kind = "counter"
	Gauge     Kind = "gauge"
	Histogram Kind = "histogram"
)

// Definition says what a metric is.
type Definition struct {
	// Name is the whole name, with the prefix if there is one.
	Name string
	Kind Kind
	// Labels are the names of the labels, in the order in which values are given.
	Labels []string
	// Buckets are the upper bounds of a histogram.
	Buckets   []float64
	Stability basemetrics.StabilityLevel
	// Deprecated is the version since which the metric is deprecated; empty if it is not.
	Deprecated string
	// Help says what is measured, and when.
	Help string
}

const prefix = "scheduler_"

// claimCreates has no prefix: kube-controller-manager has a metric of this name too.
const claimCreates = "dynamic_resource_allocation_resourceclaim_creates_total"

// Definitions returns the definitions of all metrics of this package, sorted by name. Names, kinds, labels, buckets and
// stability levels are those of kube-scheduler, but for scheduler_verdict_cache_bytes, which is about what only Rouse has.
func Definitions() []Definition {
	all := slices.Concat(attemptDefinitions(), queueDefinitions(), frameworkDefinitions(), pluginDefinitions(), deviceDefinitions())
	slices.SortFunc(all, func(a, b Definition) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return all
}

func attemptDefinitions() []Definition {
	return []Definition{
		{
			Name: prefix + "schedule_attempts_total", Kind: Counter, Labels: []string{"result", "profile"},
			Stability: basemetrics.STABLE,
			Help: "Attempts to schedule a pod, by how they ended: 'scheduled' when the pod is bound, 'unschedulable' when plugins " +
				"rejected it, 'error' when something went wrong.",
		}, {
			Name: prefix + "scheduling_attempt_duration_seconds", Kind: Histogram, Labels: []string{"result", "profile"},
			Buckets: exponential(0.001, 2, 15), Stability: basemetrics.STABLE,
			Help: "How long an attempt to schedule a pod took, from taking it from the queue to its binding or failure.",
		}, {
			Name: prefix + "scheduling_algorithm_duration_seconds", Kind: Histogram,
			Buckets: exponential(0.001, 2, 15), Stability: basemetrics.BETA,
			Help: "How long the search for a node took, whatever came of it.",
		}, {
			Name: prefix + "pod_scheduling_sli_duration_seconds", Kind: Histogram, Labels: []string{"attempts"},
			Buckets: exponential(0.01, 2, 20), Stability: basemetrics.BETA,
			Help: "How long it took to schedule a pod from when it was first ready to be tried, over all attempts; time at closed " +
				"gates does not count.",
		}, {
			Name: prefix + "pod_scheduling_attempts", Kind: Histogram,
			Buckets: exponential(1, 2, 5), Stability: basemetrics.STABLE,
			Help: "How many attempts it took to schedule a pod.",
		}, {
			Name: prefix + "pod_scheduled_after_flush_total", Kind: Counter,
			Stability: basemetrics.ALPHA,
			Help: "Pods that were scheduled in an attempt made because they had waited for too long, not because of an event: a sign " +
				"that a queueing hint missed one.",
		}, {
			Name: prefix + "event_handling_duration_seconds", Kind: Histogram, Labels: []string{"event"},
			Buckets: exponential(0.0001, 2, 12), Stability: basemetrics.ALPHA,
			Help: "How long it took the cache and the queue to take over a change of the cluster.",
		}, {
			Name: prefix + "cache_size", Kind: Gauge, Labels: []string{"type"},
			Stability: basemetrics.ALPHA,
			Help:      "Nodes, pods and assumed pods in the scheduler's cache, counted once a second.",
		},
	}
}

func queueDefinitions() []Definition {
	return []Definition{
		{
			Name: prefix + "pending_pods", Kind: Gauge, Labels: []string{"queue"},
			Stability: basemetrics.STABLE,
			Help: "Pods in the scheduling queue: 'active' ones are to be tried now, those in 'backoff' later, 'unschedulable' ones " +
				"wait for an event, 'gated' ones are kept out by a plugin. 'incomplete' and 'pending' are for pod groups.",
		}, {
			Name: prefix + "queued_entities", Kind: Gauge, Labels: []string{"queue", "type"},
			Stability: basemetrics.ALPHA,
			Help:      "Entities in the scheduling queue; every one is a pod.",
		}, {
			Name: prefix + "queue_incoming_pods_total", Kind: Counter, Labels: []string{"queue", "event"},
			Stability: basemetrics.STABLE,
			Help:      "Pods that came into a part of the scheduling queue, by the event that moved them.",
		}, {
			Name: prefix + "queue_incoming_entities_total", Kind: Counter, Labels: []string{"queue", "event", "type"},
			Stability: basemetrics.ALPHA,
			Help:      "Entities that came into a part of the scheduling queue, by the event that moved them; every one is a pod.",
		}, {
			Name: prefix + "unschedulable_pods", Kind: Gauge, Labels: []string{"plugin", "profile"},
			Stability: basemetrics.BETA,
			Help:      "Pods in the scheduling queue that a plugin rejected, counted once for every plugin that did.",
		}, {
			Name: prefix + "inflight_events", Kind: Gauge, Labels: []string{"event"},
			Stability: basemetrics.ALPHA,
			Help:      "Events kept for the pods that are being scheduled, by label; those pods themselves are 'PodPopped'.",
		}, {
			Name: prefix + "queueing_hint_execution_duration_seconds", Kind: Histogram, Labels: []string{"plugin", "event", "hint"},
			Buckets: exponential(0.00001, 1.5, 20), Stability: basemetrics.ALPHA,
			Help: "How long a queueing hint took to answer, by answer.",
		}, {
			Name: prefix + "pre_queueing_hint_evaluations_total", Kind: Counter, Labels: []string{"plugin", "result"},
			Stability: basemetrics.ALPHA,
			Help:      "How often a plugin was asked which pods an event is about: 'all_pods' or only some ('narrowed').",
		},
	}
}

func frameworkDefinitions() []Definition {
	return []Definition{
		{
			Name: prefix + "framework_extension_point_duration_seconds", Kind: Histogram,
			Labels:  []string{"extension_point", "status", "profile"},
			Buckets: exponential(0.0001, 2, 12), Stability: basemetrics.STABLE,
			Help: "How long it took to run all plugins of an extension point; for Filter, on all nodes that were looked at.",
		}, {
			Name: prefix + "plugin_execution_duration_seconds", Kind: Histogram,
			Labels:  []string{"plugin", "extension_point", "status"},
			Buckets: exponential(0.00001, 1.5, 20), Stability: basemetrics.BETA,
			Help: "How long a plugin took at an extension point, measured in about one of ten attempts.",
		}, {
			Name: prefix + "plugin_evaluation_total", Kind: Counter, Labels: []string{"plugin", "extension_point", "profile"},
			Stability: basemetrics.BETA,
			Help:      "How often a plugin was called at an extension point and had something to say.",
		}, {
			Name: prefix + "permit_wait_duration_seconds", Kind: Histogram, Labels: []string{"result"},
			Buckets: exponential(0.001, 2, 15), Stability: basemetrics.BETA,
			Help: "How long a pod waited for permission to be bound.",
		}, {
			Name: prefix + "verdict_cache_bytes", Kind: Gauge,
			Stability: basemetrics.ALPHA,
			Help:      "Memory that what plugins said and counted takes, which is kept until nodes change, for all profiles.",
		}, {
			Name: prefix + "goroutines", Kind: Gauge, Labels: []string{"operation"},
			Stability: basemetrics.BETA,
			Help:      "Running goroutines, by what they do; for 'binding', pods that are being bound.",
		},
	}
}

func pluginDefinitions() []Definition {
	return []Definition{
		{
			Name: prefix + "preemption_attempts_total", Kind: Counter,
			Stability: basemetrics.STABLE,
			Help:      "How often it was tried to make room for a pod by evicting others.",
		}, {
			Name: prefix + "preemption_victims", Kind: Histogram,
			Buckets: exponential(1, 2, 7), Stability: basemetrics.STABLE,
			Help: "How many pods were chosen to be evicted for another.",
		}, {
			Name: prefix + "preemption_goroutines_execution_total", Kind: Counter, Labels: []string{"result"},
			Stability: basemetrics.ALPHA,
			Help:      "Evictions carried out in the background, each of all victims for a pod.",
		}, {
			Name: prefix + "preemption_goroutines_duration_seconds", Kind: Histogram, Labels: []string{"result"},
			Buckets: exponential(0.01, 2, 20), Stability: basemetrics.ALPHA, Deprecated: "1.37.0",
			Help: "How long it took to evict all victims for a pod in the background.",
		}, {
			Name: prefix + "volume_scheduling_stage_error_total", Kind: Counter, Labels: []string{"operation"},
			Stability: basemetrics.ALPHA,
			Help: "Errors with the volumes of a pod: looking for them ('predicate'), setting them aside ('assume'), and having " +
				"them bound ('bind').",
		},
	}
}

func deviceDefinitions() []Definition {
	return []Definition{
		{
			Name: claimCreates, Kind: Counter, Labels: []string{"status", "admin_access", "owner_api_group", "owner_api_kind"},
			Stability: basemetrics.ALPHA,
			Help: "ResourceClaims that the scheduler created for the extended resources of a pod ('success'), or tried to create " +
				"('failure').",
		}, {
			Name: prefix + "dra_bindingconditions_allocations_total", Kind: Counter, Labels: []string{"profile", "driver", "status"},
			Stability: basemetrics.ALPHA,
			Help: "Waits for devices with binding conditions to be ready, counted for every driver, by how they ended: 'success', " +
				"'failure' or 'timeout'.",
		}, {
			Name: prefix + "dra_bindingconditions_wait_duration_seconds", Kind: Histogram, Labels: []string{"profile", "driver", "status"},
			Buckets: exponential(0.1, 2, 14), Stability: basemetrics.ALPHA,
			Help: "How long a pod waited for devices with binding conditions to be ready, counted for every driver.",
		},
	}
}

func exponential(start, factor float64, count int) []float64 {
	return basemetrics.ExponentialBuckets(start, factor, count)
}
