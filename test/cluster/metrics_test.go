// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	v1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// family is what dashboards rely on of a metric: its type, its labels, its buckets.
type family struct {
	Type    string
	Labels  string // names, in order
	Buckets int    // of a histogram
}

// The metrics after the same work are those of kube-scheduler, but for what is said here.
func TestMetricsAreThoseOfKubeScheduler(t *testing.T) {
	ours, ourText := scrapeAfterWork(t, false)
	theirs, _ := scrapeAfterWork(t, true)
	otherwise := func(name string) bool {
		// There are no batches of equal pods: verdicts are kept for every pod.
		return strings.HasPrefix(name, "scheduler_batch_") ||
			name == "scheduler_get_node_hint_duration_seconds" || name == "scheduler_store_schedule_results_duration_seconds"
	}
	for _, name := range slices.Sorted(maps.Keys(theirs)) {
		if !strings.HasPrefix(name, "scheduler_") && !strings.HasPrefix(name, "kube_pod_resource_") || otherwise(name) {
			continue
		}
		if diff := cmp.Diff(theirs[name], ours[name]); diff != "" {
			t.Errorf("%s (- kube-scheduler, + rouse):\n%s", name, diff)
		}
	}
	for _, name := range []string{
		"scheduler_schedule_attempts_total", "scheduler_scheduling_attempt_duration_seconds", "scheduler_preemption_victims",
		"scheduler_preemption_attempts_total", "scheduler_pending_pods", "scheduler_pod_scheduling_attempts",
		"scheduler_framework_extension_point_duration_seconds", "scheduler_queue_incoming_pods_total",
		"scheduler_pod_scheduling_sli_duration_seconds", "scheduler_unschedulable_pods", "scheduler_plugin_evaluation_total",
		"scheduler_scheduling_algorithm_duration_seconds", "scheduler_goroutines", "scheduler_cache_size",
		"rest_client_requests_total", "rest_client_request_duration_seconds", "leader_election_master_status",
		"kubernetes_build_info", "kubernetes_feature_enabled", "process_cpu_seconds_total", "go_goroutines",
		"kube_pod_resource_request", "kube_pod_resource_limit", "kubernetes_healthcheck", "kubernetes_healthchecks_total",
	} {
		if _, found := ours[name]; !found {
			t.Errorf("%s is not there", name)
		}
	}
	problems, err := promlint.New(strings.NewReader(ourText)).Lint()
	if err != nil {
		t.Fatalf("linting the metrics: %v", err)
	}
	for _, problem := range problems {
		if _, sameThere := theirs[problem.Metric]; !sameThere {
			t.Errorf("%s: %s", problem.Metric, problem.Text)
		}
	}
	t.Logf("%d metrics, %d of them of the scheduler", len(ours), len(slices.DeleteFunc(slices.Collect(maps.Keys(ours)),
		func(name string) bool { return !strings.HasPrefix(name, "scheduler_") })))
}

// scrapeAfterWork lets a scheduler bind, reject, hold back and preempt, and reads what it measured.
func scrapeAfterWork(t *testing.T, kubeScheduler bool) (families map[string]family, text string) {
	t.Helper()
	ctx := t.Context()
	f := NewFixture(ctx, t, settings.Binaries, InsteadOf)
	var s *Scheduler
	if kubeScheduler {
		s = f.KubeScheduler(ctx, t, f.Front, nil)
	} else {
		s = f.Rouse(t, "rouse", f.Front, nil)
	}
	s.WaitReady(ctx, t)
	f.work(t)
	token := f.scraper(t)
	families = map[string]family{}
	for _, path := range []string{"/metrics", "/metrics/resources", "/metrics/slis"} {
		part := ""
		// Some are written with a delay of a second.
		WaitFor(ctx, t, 10*time.Second, func() (bool, string) {
			answer, err := s.Read(ctx, path, token)
			if err != nil {
				t.Fatal(err)
			}
			if answer.Code != http.StatusOK {
				return false, path + ": " + answer.Body
			}
			part = answer.Body
			return path != "/metrics" || strings.Contains(part, "scheduler_plugin_execution_duration_seconds"), "metrics of plugins"
		})
		maps.Copy(families, parseFamilies(t, part))
		if path == "/metrics" {
			text = part
		}
	}
	return families, text
}

// work makes a scheduler do some of everything.
func (f *Fixture) work(t *testing.T) {
	t.Helper()
	c := newCorner(t, f.Client, f.SchedulerName(t), 0)
	c.node("n1")
	c.pod("gated", func(pod *v1.Pod) { pod.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "example.com/wait"}} })
	limited := func(pod *v1.Pod) {
		resources := &pod.Spec.Containers[0].Resources
		resources.Limits = v1.ResourceList{v1.ResourceCPU: resources.Requests[v1.ResourceCPU]}
	}
	c.pod("victim", asking("3"))
	c.waitBound("victim", soon)
	c.pod("unschedulable", asking("100"), limited)
	c.waitRejected("unschedulable", "Insufficient cpu")
	c.pod("preemptor", asking("4"), func(pod *v1.Pod) { pod.Spec.PriorityClassName = "system-node-critical" })
	c.waitBound("preemptor", 2*soon)
	for number := range 60 { // plugins are measured in one cycle of ten
		c.pod(MakePod("", number).Name, asking("0"))
	}
	c.waitBound(MakePod("", 11).Name, soon)
}

// scraper returns a token of someone who may read metrics, and nothing else.
func (f *Fixture) scraper(t *testing.T) string {
	t.Helper()
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "metrics-reader"},
		Rules:      []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics", "/metrics/*"}, Verbs: []string{"get"}}},
	}
	must(&corner{t: t}, "role")(f.Client.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{}))
	return f.tokenWithRoles(t.Context(), t, f.Client, "default", "prometheus", role.Name)
}

func parseFamilies(t *testing.T, text string) map[string]family {
	t.Helper()
	families := map[string]family{}
	for name, metric := range parseText(t, text) {
		families[name] = describe(metric)
	}
	return families
}

func parseText(t *testing.T, text string) map[string]*dto.MetricFamily {
	t.Helper()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	parsed, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatalf("reading the metrics: %v", err)
	}
	return parsed
}

func describe(metric *dto.MetricFamily) family {
	described := family{Type: metric.GetType().String()}
	labels := map[string]bool{}
	for _, series := range metric.Metric {
		for _, label := range series.Label {
			labels[label.GetName()] = true
		}
		if histogram := series.Histogram; histogram != nil {
			described.Buckets = len(histogram.Bucket)
		}
	}
	described.Labels = strings.Join(slices.Sorted(maps.Keys(labels)), " ")
	return described
}
