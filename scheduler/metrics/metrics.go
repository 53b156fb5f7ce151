// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	basemetrics "k8s.io/component-base/metrics"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/clock"

	"github.com/rouse-scheduler/rouse/cache"
	"github.com/rouse-scheduler/rouse/plugins/dynamicresources"
	"github.com/rouse-scheduler/rouse/plugins/preemption"
	"github.com/rouse-scheduler/rouse/plugins/volumebinding"
	"github.com/rouse-scheduler/rouse/queue"
	"github.com/rouse-scheduler/rouse/runtime"
	"github.com/rouse-scheduler/rouse/scheduler"
)

// interval is how often buffered measurements are recorded, and the cache is counted.
const interval = time.Second

var (
	_ runtime.Metrics          = &recorder{}
	_ queue.BatchObserver      = &recorder{}
	_ scheduler.Observer       = &recorder{}
	_ preemption.Metrics       = &recorder{}
	_ volumebinding.Metrics    = &recorder{}
	_ dynamicresources.Metrics = &recorder{}
)

// Options are the settings of [New]. The zero value is the default.
type Options struct {
	// Clock says when a second is over; nil means the real clock. Durations are measured by others.
	Clock clock.WithTicker
}

// Metrics measures one scheduler. Make it with [New] and have it told by [Metrics.Attach]. It is safe for concurrent
// use.
type Metrics struct {
	recorder *recorder
}

// recorder is what a scheduler, its queue, its framework and its plugins tell what happens.
type recorder struct {
	clock       clock.WithTicker
	buffer      buffer
	eventLabels eventLabels

	attempts          *counters
	attemptDurations  *histograms
	searchDuration    *pinned[basemetrics.ObserverMetric]
	sliDurations      *histograms
	attemptsPerPod    *pinned[basemetrics.ObserverMetric]
	scheduledByFlush  *pinned[basemetrics.CounterMetric]
	eventDurations    *histograms
	cacheSize         *gauges
	pools             map[queue.Pool]poolGauges
	incomingPods      *counters
	incomingEntities  *counters
	unschedulablePods *gauges
	inFlightEvents    *gauges
	hintDurations     *histograms
	narrowings        *counters

	pointDurations     *histograms
	preEnqueueDuration remembered[basemetrics.ObserverMetric]
	pluginDurations    *histograms
	evaluations        *counters
	permitWaits        *histograms
	goroutines         *gauges
	verdictCaches      *gauges

	preemptions       *pinned[basemetrics.CounterMetric]
	victims           *pinned[basemetrics.ObserverMetric]
	evictions         *counters
	evictionDurations *histograms
	volumeErrors      *counters

	claimsCreated *counters
	devicesBound  *counters
	deviceWaits   *histograms
}

// New makes the metrics of a scheduler and registers them, for example with the Register method of a new
// basemetrics.KubeRegistry, or with legacyregistry.Register if they are to be served with all the others that the
// libraries of Kubernetes register there. It fails if register does, as it will for a second scheduler.
func New(register func(basemetrics.Registerable) error, options Options) (*Metrics, error) {
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	r := registration{register: register, definitions: map[string]Definition{}}
	for _, definition := range Definitions() {
		r.definitions[strings.TrimPrefix(definition.Name, prefix)] = definition
	}
	m := &recorder{clock: options.Clock, buffer: make(buffer, bufferSize)}
	m.eventLabels.known = map[fwk.ClusterEvent]string{}
	m.register(&r)
	for _, definition := range r.definitions {
		r.fail(definition.Name, errors.New("the metric is defined but was not created"))
	}
	if err := errors.Join(r.errs...); err != nil {
		return nil, err
	}
	return &Metrics{m}, nil
}

func (m *recorder) register(r *registration) {
	m.attempts = r.counters("schedule_attempts_total")
	m.attemptDurations = r.histograms("scheduling_attempt_duration_seconds")
	m.searchDuration = r.histograms("scheduling_algorithm_duration_seconds").series.pin(labels{})
	m.sliDurations = r.histograms("pod_scheduling_sli_duration_seconds")
	m.attemptsPerPod = r.histograms("pod_scheduling_attempts").series.pin(labels{})
	m.scheduledByFlush = r.counters("pod_scheduled_after_flush_total").series.pin(labels{})
	m.eventDurations = r.histograms("event_handling_duration_seconds")
	m.cacheSize = r.gauges("cache_size")
	m.pools = poolsOf(r.gauges("pending_pods"), r.gauges("queued_entities"))
	m.incomingPods = r.counters("queue_incoming_pods_total")
	m.incomingEntities = r.counters("queue_incoming_entities_total")
	m.unschedulablePods = r.gauges("unschedulable_pods")
	m.inFlightEvents = r.gauges("inflight_events")
	m.hintDurations = r.histograms("queueing_hint_execution_duration_seconds")
	m.narrowings = r.counters("pre_queueing_hint_evaluations_total")
	m.pointDurations = r.histograms("framework_extension_point_duration_seconds")
	m.pluginDurations = r.histograms("plugin_execution_duration_seconds")
	m.evaluations = r.counters("plugin_evaluation_total")
	m.permitWaits = r.histograms("permit_wait_duration_seconds")
	m.goroutines = r.gauges("goroutines")
	m.verdictCaches = r.gauges("verdict_cache_bytes")
	m.preemptions = r.counters("preemption_attempts_total").series.pin(labels{})
	m.victims = r.histograms("preemption_victims").series.pin(labels{})
	m.evictions = r.counters("preemption_goroutines_execution_total")
	m.evictionDurations = r.histograms("preemption_goroutines_duration_seconds")
	m.volumeErrors = r.counters("volume_scheduling_stage_error_total")
	m.claimsCreated = r.counters(claimCreates)
	m.devicesBound = r.counters("dra_bindingconditions_allocations_total")
	m.deviceWaits = r.histograms("dra_bindingconditions_wait_duration_seconds")
}

// registration makes metrics of definitions, each once.
type registration struct {
	register    func(basemetrics.Registerable) error
	definitions map[string]Definition // those that are left, by name without the prefix
	errs        []error
}

func (r *registration) counters(name string) *counters {
	return registered(r, name, Counter, newCounters)
}

func (r *registration) histograms(name string) *histograms {
	return registered(r, name, Histogram, newHistograms)
}

func (r *registration) gauges(name string) *gauges {
	return registered(r, name, Gauge, newGauges)
}

func registered[M basemetrics.Registerable](r *registration, name string, kind Kind, make func(Definition) M) M {
	definition := r.definitions[name]
	if definition.Kind != kind {
		r.fail(definition.Name, fmt.Errorf("it is defined as %q but created as %q", definition.Kind, kind))
	}
	delete(r.definitions, name)
	metric := make(definition)
	if err := r.register(metric); err != nil {
		r.fail(definition.Name, err)
	}
	return metric
}

func (r *registration) fail(name string, err error) {
	r.errs = append(r.errs, fmt.Errorf("registering metric %s: %w", name, err))
}

// Attach has a scheduler that is made with the options tell m what happens. Observers that the options have already are
// told too, before m.
func (m *Metrics) Attach(options *scheduler.Options) { m.recorder.Attach(options) }

func (m *recorder) Attach(options *scheduler.Options) {
	options.Observers.Metrics = m
	options.Observers.Scheduler = scheduler.JoinObservers(options.Observers.Scheduler, m)
	options.Observers.Queue = queue.JoinObservers(options.Observers.Queue, m)
}

// Run records, every second until the context ends, what was measured where time is precious, and how much counts says
// that the cache holds; it does so once more before it returns. Only one goroutine may call it. Counts may be nil.
func (m *Metrics) Run(ctx context.Context, counts func() cache.Counts) { m.recorder.Run(ctx, counts) }

func (m *recorder) Run(ctx context.Context, counts func() cache.Counts) {
	ticker := m.clock.NewTicker(interval)
	defer ticker.Stop()
	for {
		m.buffer.record()
		if counts != nil {
			m.countCache(counts())
		}
		select {
		case <-ctx.Done():
			m.buffer.record()
			return
		case <-ticker.C():
		}
	}
}

func (m *recorder) countCache(counts cache.Counts) {
	m.cacheSize.of(labels{"nodes"}).set(counts.Nodes)
	m.cacheSize.of(labels{"pods"}).set(counts.Pods)
	m.cacheSize.of(labels{"assumed_pods"}).set(counts.AssumedPods)
}
