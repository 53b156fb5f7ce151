// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// metricFamilies are the metrics of a scheduler by their names.
type metricFamilies map[string]*dto.MetricFamily

// requestMetric counts the requests of a scheduler to the API server.
const requestMetric = "rest_client_requests_total"

// readings are what the metrics of the scheduler say at one time.
type readings struct {
	attempts histograms
	requests map[string]float64 // by method
}

// readMetrics reads the metrics of the scheduler.
func (r *run) readMetrics(ctx context.Context) (*readings, error) {
	answer, err := r.scheduler.Read(ctx, "/metrics", r.token)
	if err != nil {
		return nil, err
	}
	if answer.Code != http.StatusOK {
		return nil, fmt.Errorf("reading the metrics of the scheduler: it answers %d: %s", answer.Code, answer.Body)
	}
	return parseMetrics(answer.Body)
}

func parseMetrics(text string) (*readings, error) {
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("reading the metrics of the scheduler: %w", err)
	}
	return &readings{attempts: attemptsIn(families), requests: requestsIn(families)}, nil
}

// requestsIn adds up the requests of each method.
func requestsIn(families metricFamilies) map[string]float64 {
	requests := map[string]float64{}
	for _, metric := range families[requestMetric].GetMetric() {
		requests[labelOf(metric, "method")] += metric.GetCounter().GetValue()
	}
	return requests
}

// requestsSince returns how many requests of each method were sent after an earlier reading.
func (r *readings) requestsSince(earlier *readings) map[string]int {
	sent := map[string]int{}
	for method, count := range r.requests {
		if n := int(count - earlier.requests[method]); n > 0 {
			sent[method] = n
		}
	}
	return sent
}

func labelOf(metric *dto.Metric, name string) string {
	for _, label := range metric.GetLabel() {
		if label.GetName() == name {
			return label.GetValue()
		}
	}
	return ""
}
