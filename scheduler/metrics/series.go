// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"maps"
	"sync"
	"sync/atomic"

	basemetrics "k8s.io/component-base/metrics"
)

// labels are the values of the labels of one series, in the order of the definition; unused ones are empty. As an array
// they are a key that costs no allocation.
type labels [4]string

// series finds the series of a metric by its labels, without locks and allocations once it was there. Those that are
// pinned exist from the start.
type series[S any] struct {
	count int // of labels
	make  func(values ...string) S

	known atomic.Pointer[map[labels]S]

	mu     sync.Mutex // held to change known and pinned
	pinned map[labels]*pinned[S]
}

// pinned is a series that exists even while nothing was measured. The metric is another one after a reset.
type pinned[S any] struct{ current atomic.Pointer[S] }

func (p *pinned[S]) get() S { return *p.current.Load() }

func (s *series[S]) init(count int, make func(values ...string) S) {
	s.count, s.make = count, make
	s.pinned = map[labels]*pinned[S]{}
	s.known.Store(&map[labels]S{})
}

// of returns a series, and makes it if need be.
func (s *series[S]) of(values labels) S {
	if found, ok := (*s.known.Load())[values]; ok {
		return found
	}
	return s.add(values)
}

// add is a method of its own because its argument escapes.
func (s *series[S]) add(values labels) S {
	s.mu.Lock()
	defer s.mu.Unlock()
	made := s.make(values[:s.count]...)
	grown := maps.Clone(*s.known.Load())
	grown[values] = made
	s.known.Store(&grown)
	return made
}

// remembered is the series that was last asked for, for those who ask for the same one again and again.
type remembered[S any] struct{ last atomic.Pointer[found[S]] }

// found is a series that was found among the known ones.
type found[S any] struct {
	known  *map[labels]S
	values labels
	series S
}

// of is series.of. It looks the labels up only if others were asked for last, or the known series are not the same.
func (r *remembered[S]) of(s *series[S], values labels) S {
	known := s.known.Load()
	if last := r.last.Load(); last != nil && last.known == known && last.values == values {
		return last.series
	}
	return r.find(s, values)
}

// find is a method of its own because what it stores escapes.
func (r *remembered[S]) find(s *series[S], values labels) S {
	known := s.known.Load()
	result, ok := (*known)[values]
	if !ok {
		return s.add(values) // which ends what is known, so that there is nothing to remember yet
	}
	r.last.Store(&found[S]{known, values, result})
	return result
}

// pin makes a series, which will also exist after a reset.
func (s *series[S]) pin(values labels) *pinned[S] {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.pinned[values]
	if p == nil {
		p = &pinned[S]{}
		p.current.Store(new(s.make(values[:s.count]...)))
		s.pinned[values] = p
	}
	return p
}

// reset forgets all series, and makes the pinned ones again.
func (s *series[S]) reset(forget func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	forget()
	s.known.Store(&map[labels]S{})
	for values, p := range s.pinned {
		p.current.Store(new(s.make(values[:s.count]...)))
	}
}

// counters is a metric of kind [Counter].
type counters struct {
	*basemetrics.CounterVec
	series series[basemetrics.CounterMetric]
}

func newCounters(definition Definition) *counters {
	c := &counters{CounterVec: basemetrics.NewCounterVec(&basemetrics.CounterOpts{
		Name: definition.Name, Help: definition.Help,
		StabilityLevel: definition.Stability, DeprecatedVersion: definition.Deprecated,
	}, definition.Labels)}
	c.series.init(len(definition.Labels), c.WithLabelValues)
	return c
}

// Reset is called when the registry is reset.
func (c *counters) Reset() { c.series.reset(c.CounterVec.Reset) }

func (c *counters) increment(values labels) { c.series.of(values).Inc() }

func (c *counters) add(values labels, count int) { c.series.of(values).Add(float64(count)) }

// histograms is a metric of kind [Histogram].
type histograms struct {
	*basemetrics.HistogramVec
	series series[basemetrics.ObserverMetric]
}

func newHistograms(definition Definition) *histograms {
	h := &histograms{HistogramVec: basemetrics.NewHistogramVec(&basemetrics.HistogramOpts{
		Name: definition.Name, Help: definition.Help, Buckets: definition.Buckets,
		StabilityLevel: definition.Stability, DeprecatedVersion: definition.Deprecated,
	}, definition.Labels)}
	h.series.init(len(definition.Labels), h.WithLabelValues)
	return h
}

// Reset is called when the registry is reset.
func (h *histograms) Reset() { h.series.reset(h.HistogramVec.Reset) }

func (h *histograms) observe(values labels, value float64) { h.series.of(values).Observe(value) }

// gauges is a metric of kind [Gauge]. What a gauge shows is how things are now, so that a reset does not change it.
type gauges struct {
	*basemetrics.GaugeVec
	count int // of labels

	mu    sync.Mutex
	known map[labels]*gauge // guarded by mu
}

// gauge is one series. The mutex of the metric guards the fields below it.
type gauge struct {
	mu *sync.Mutex

	value  int
	metric basemetrics.GaugeMetric
}

func (g *gauge) change(by int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.value += by
	g.metric.Set(float64(g.value))
}

func (g *gauge) set(to int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.value = to
	g.metric.Set(float64(to))
}

func newGauges(definition Definition) *gauges {
	return &gauges{
		GaugeVec: basemetrics.NewGaugeVec(&basemetrics.GaugeOpts{
			Name: definition.Name, Help: definition.Help,
			StabilityLevel: definition.Stability, DeprecatedVersion: definition.Deprecated,
		}, definition.Labels),
		count: len(definition.Labels),
		known: map[labels]*gauge{},
	}
}

// Reset is called when the registry is reset.
func (g *gauges) Reset() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.GaugeVec.Reset()
	for values, known := range g.known {
		known.metric = g.WithLabelValues(values[:g.count]...)
		known.metric.Set(float64(known.value))
	}
}

func (g *gauges) change(values labels, by int) { g.of(values).change(by) }

// of returns a series, and makes it if need be.
func (g *gauges) of(values labels) *gauge {
	g.mu.Lock()
	defer g.mu.Unlock()
	known := g.known[values]
	if known == nil {
		known = &gauge{mu: &g.mu, metric: g.WithLabelValues(values[:g.count]...)}
		g.known[values] = known
	}
	return known
}
