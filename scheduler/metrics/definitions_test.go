// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	basemetrics "k8s.io/component-base/metrics"

	"github.com/rouse-scheduler/rouse/scheduler/metrics"
)

// expected is what dashboards and alerts for kube-scheduler 1.37 rely on: name, kind, labels, exponential buckets and
// stability level.
const expected = `
dynamic_resource_allocation_resourceclaim_creates_total counter {status,admin_access,owner_api_group,owner_api_kind} ALPHA
cache_size gauge {type} ALPHA
dra_bindingconditions_allocations_total counter {profile,driver,status} ALPHA
dra_bindingconditions_wait_duration_seconds histogram {profile,driver,status} (0.1,2,14) ALPHA
event_handling_duration_seconds histogram {event} (0.0001,2,12) ALPHA
framework_extension_point_duration_seconds histogram {extension_point,status,profile} (0.0001,2,12) STABLE
goroutines gauge {operation} BETA
inflight_events gauge {event} ALPHA
pending_pods gauge {queue} STABLE
permit_wait_duration_seconds histogram {result} (0.001,2,15) BETA
plugin_evaluation_total counter {plugin,extension_point,profile} BETA
plugin_execution_duration_seconds histogram {plugin,extension_point,status} (0.00001,1.5,20) BETA
pod_scheduled_after_flush_total counter {} ALPHA
pod_scheduling_attempts histogram {} (1,2,5) STABLE
pod_scheduling_sli_duration_seconds histogram {attempts} (0.01,2,20) BETA
pre_queueing_hint_evaluations_total counter {plugin,result} ALPHA
preemption_attempts_total counter {} STABLE
preemption_goroutines_duration_seconds histogram {result} (0.01,2,20) ALPHA deprecated 1.37.0
preemption_goroutines_execution_total counter {result} ALPHA
preemption_victims histogram {} (1,2,7) STABLE
queue_incoming_entities_total counter {queue,event,type} ALPHA
queue_incoming_pods_total counter {queue,event} STABLE
queued_entities gauge {queue,type} ALPHA
queueing_hint_execution_duration_seconds histogram {plugin,event,hint} (0.00001,1.5,20) ALPHA
schedule_attempts_total counter {result,profile} STABLE
scheduling_algorithm_duration_seconds histogram {} (0.001,2,15) BETA
scheduling_attempt_duration_seconds histogram {result,profile} (0.001,2,15) STABLE
unschedulable_pods gauge {plugin,profile} BETA
verdict_cache_bytes gauge {} ALPHA
volume_scheduling_stage_error_total counter {operation} ALPHA
`

func TestDefinitions(t *testing.T) {
	var got []string
	for _, definition := range metrics.Definitions() {
		got = append(got, describe(t, definition))
	}
	if diff := cmp.Diff(strings.Split(strings.TrimSpace(expected), "\n"), got); diff != "" {
		t.Errorf("definitions (-want +got):\n%s", diff)
	}
}

func describe(t *testing.T, definition metrics.Definition) string {
	t.Helper()
	line := fmt.Sprintf("%s %s {%s}", strings.TrimPrefix(definition.Name, "scheduler_"), definition.Kind, strings.Join(definition.Labels, ","))
	if buckets := definition.Buckets; len(buckets) > 0 {
		// The factors are such that the quotient is one exactly, or nearly so.
		factor := fmt.Sprintf("%.3g", buckets[1]/buckets[0])
		first := strings.TrimRight(fmt.Sprintf("%.6f", buckets[0]), "0")
		line += fmt.Sprintf(" (%s,%s,%d)", strings.TrimSuffix(first, "."), factor, len(buckets))
	}
	line += " " + string(definition.Stability)
	if definition.Deprecated != "" {
		line += " deprecated " + definition.Deprecated
	}
	return line
}

// What is registered is what is defined.
func TestRegisteredAsDefined(t *testing.T) {
	f := newFixture(t, metrics.Options{})
	touchAll(f.Recorder)
	scraped := f.scrape()
	for _, definition := range metrics.Definitions() {
		for _, line := range []string{
			fmt.Sprintf("# HELP %s [%s] %s\n", definition.Name, definition.Stability, definition.Help),
			fmt.Sprintf("# TYPE %s %s\n", definition.Name, definition.Kind),
		} {
			if !strings.Contains(scraped, line) {
				t.Errorf("the answer lacks %q", line)
			}
		}
		for _, bound := range definition.Buckets {
			if line := fmt.Sprintf(`le="%v"`, bound); !strings.Contains(scraped, line) {
				t.Errorf("%s: the answer lacks the bucket %s", definition.Name, line)
			}
		}
	}
	families, err := f.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	if len(families) != len(metrics.Definitions()) {
		t.Errorf("got %d metrics, want %d", len(families), len(metrics.Definitions()))
	}
	for _, family := range families {
		labels := labelsOf(t, strings.TrimPrefix(family.GetName(), "scheduler_"))
		for _, metric := range family.GetMetric() {
			if len(metric.GetLabel()) != len(labels) {
				t.Errorf("%s has labels %v, want %v", family.GetName(), metric.GetLabel(), labels)
			}
		}
	}
}

func TestTwoSchedulersNeedTwoRegistries(t *testing.T) {
	registry := basemetrics.NewKubeRegistry()
	if _, err := metrics.New(registry.Register, metrics.Options{}); err != nil {
		t.Fatal(err)
	}
	_, err := metrics.New(registry.Register, metrics.Options{})
	if err == nil || !strings.Contains(err.Error(), "registering metric scheduler_pending_pods: duplicate metrics collector") {
		t.Errorf("got error %v, want one that names the metric", err)
	}
	newFixture(t, metrics.Options{})
}
