// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	basemetrics "k8s.io/component-base/metrics"

	"github.com/rouse-scheduler/rouse/scheduler/metrics"
)

// fixture is metrics in a registry of their own.
type fixture struct {
	*metrics.Recorder
	t        testing.TB
	registry basemetrics.KubeRegistry
}

func newFixture(t testing.TB, options metrics.Options) *fixture {
	t.Helper()
	registry := basemetrics.NewKubeRegistry()
	m, err := metrics.New(registry.Register, options)
	if err != nil {
		t.Fatal(err)
	}
	return &fixture{Recorder: m.Recorder(), t: t, registry: registry}
}

// scrape returns what a GET request is answered.
func (f *fixture) scrape() string {
	f.t.Helper()
	answer := httptest.NewRecorder()
	handler := basemetrics.HandlerFor(f.registry, basemetrics.HandlerOpts{})
	handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if answer.Code != http.StatusOK {
		f.t.Fatalf("scraping: status %d, %s", answer.Code, answer.Body)
	}
	return answer.Body.String()
}

// values returns the series of a metric; see [fixture.all].
func (f *fixture) values(name string) []string {
	f.t.Helper()
	labelsOf(f.t, name)
	return f.all()[name]
}

// all returns the series of all metrics by name without the prefix, each sorted, as values of labels and a value:
// "scheduled default-scheduler: 3". A histogram has its count and sum as value.
func (f *fixture) all() map[string][]string {
	f.t.Helper()
	families, err := f.registry.Gather()
	if err != nil {
		f.t.Fatal(err)
	}
	all := map[string][]string{}
	for _, family := range families {
		name := strings.TrimPrefix(family.GetName(), "scheduler_")
		order := labelsOf(f.t, name)
		for _, metric := range family.GetMetric() {
			values := make([]string, len(order))
			for _, pair := range metric.GetLabel() {
				values[slices.Index(order, pair.GetName())] = pair.GetValue()
			}
			value := fmt.Sprint(metric.GetCounter().GetValue() + metric.GetGauge().GetValue())
			if histogram := metric.GetHistogram(); histogram != nil {
				value = fmt.Sprintf("%d in %v", histogram.GetSampleCount(), math.Round(histogram.GetSampleSum()*1e6)/1e6)
			}
			all[name] = append(all[name], strings.TrimPrefix(strings.Join(values, " ")+": ", ": ")+value)
		}
		slices.Sort(all[name])
	}
	return all
}

func labelsOf(t testing.TB, name string) []string {
	t.Helper()
	for _, definition := range metrics.Definitions() {
		if strings.TrimPrefix(definition.Name, "scheduler_") == name {
			return definition.Labels
		}
	}
	t.Fatalf("there is no metric %s", name)
	return nil
}

// hasSeries checks that a series of a metric has some value.
func hasSeries(t testing.TB, f *fixture, metric, want string) {
	t.Helper()
	if got := f.values(metric); !slices.Contains(got, want) {
		t.Errorf("%s lacks %q; it has %q", metric, want, got)
	}
}
