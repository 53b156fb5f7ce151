// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// scraped are the labels that Prometheus itself gives to what it scrapes.
var scraped = []string{"job", "instance", "namespace", "pod", "container", "endpoint", "service"}

// metric is a metric that docs/metrics.md describes; tests of the scheduler compare that page with what it serves.
type metric struct {
	histogram bool
	labels    []string
}

// knownMetrics reads the tables of docs/metrics.md.
func knownMetrics(t *testing.T) map[string]metric {
	t.Helper()
	known := map[string]metric{"up": {}} // which Prometheus makes
	row := regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| (counter|gauge|histogram)[^|]* \\| ([^|]*) \\|")
	for _, found := range row.FindAllStringSubmatch(read(t, "../../docs/metrics.md"), -1) {
		described := metric{histogram: found[2] == "histogram"}
		if found[3] != "none" {
			described.labels = strings.Split(found[3], ", ")
		}
		known[found[1]] = described
	}
	if len(known) < 30 {
		t.Fatalf("docs/metrics.md describes %d metrics, want 30 at least", len(known))
	}
	return known
}

func TestAlerts(t *testing.T) {
	var rules struct {
		Spec struct {
			Groups []struct {
				Name  string `json:"name"`
				Rules []struct {
					Alert       string            `json:"alert"`
					Expr        string            `json:"expr"`
					For         string            `json:"for"`
					Labels      map[string]string `json:"labels"`
					Annotations map[string]string `json:"annotations"`
				} `json:"rules"`
			} `json:"groups"`
		} `json:"spec"`
		APIVersion string         `json:"apiVersion"`
		Kind       string         `json:"kind"`
		Metadata   map[string]any `json:"metadata"`
	}
	if err := yaml.UnmarshalStrict([]byte(read(t, "prometheus_rule.yaml")), &rules); err != nil {
		t.Fatal(err)
	}
	checker := expressionChecker{known: knownMetrics(t)}
	alerts := 0
	for _, group := range rules.Spec.Groups {
		for _, alert := range group.Rules {
			alerts++
			checker.check(t, alert.Alert, alert.Expr)
			if alert.Alert == "" || alert.Annotations["summary"] == "" || alert.Labels["severity"] == "" {
				t.Errorf("%q has no name, summary or severity", alert.Alert)
			}
		}
	}
	if alerts == 0 {
		t.Error("there are no alerts")
	}
}

func TestDashboard(t *testing.T) {
	var dashboard struct {
		Panels []struct {
			Type, Title string
			Targets     []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(read(t, "dashboard.json")), &dashboard); err != nil {
		t.Fatal(err)
	}
	checker := expressionChecker{known: knownMetrics(t)}
	for _, panel := range dashboard.Panels {
		if panel.Type == "row" {
			continue
		}
		if len(panel.Targets) == 0 {
			t.Errorf("panel %q shows nothing", panel.Title)
		}
		for _, target := range panel.Targets {
			checker.check(t, panel.Title, strings.ReplaceAll(target.Expr, "$__rate_interval", "5m"))
		}
	}
	// What is measured and not shown would be missed by whoever looks for it here.
	for _, name := range []string{"scheduler_pending_pods", "scheduler_unschedulable_pods", "scheduler_schedule_attempts_total"} {
		if !checker.used[name] {
			t.Errorf("the dashboard does not show %s", name)
		}
	}
}

// expressionChecker checks that expressions select metrics and labels that exist.
type expressionChecker struct {
	known map[string]metric
	used  map[string]bool
}

func (c *expressionChecker) check(t *testing.T, where, expression string) {
	t.Helper()
	parsed, err := parser.ParseExpr(expression)
	if err != nil {
		t.Errorf("%s: %v", where, err)
		return
	}
	var selected []string // the labels that what is selected has
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		selector, ok := node.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		name, found := c.find(selector.Name)
		if !found {
			t.Errorf("%s: there is no metric %s", where, selector.Name)
			return nil
		}
		if c.used == nil {
			c.used = map[string]bool{}
		}
		c.used[name] = true
		has := slices.Concat(scraped, c.known[name].labels)
		if strings.HasSuffix(selector.Name, "_bucket") {
			has = append(has, "le")
		}
		selected = append(selected, has...)
		job := ""
		for _, matcher := range selector.LabelMatchers {
			if matcher.Name != labels.MetricName && !slices.Contains(has, matcher.Name) {
				t.Errorf("%s: %s has no label %s; it has %v", where, selector.Name, matcher.Name, has)
			}
			if matcher.Name == "job" {
				job = matcher.Value
			}
		}
		if job != "rouse" {
			t.Errorf("%s: %s is selected with the job %q, want rouse", where, selector.Name, job)
		}
		return nil
	})
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		if aggregate, ok := node.(*parser.AggregateExpr); ok {
			for _, label := range aggregate.Grouping {
				if !slices.Contains(selected, label) {
					t.Errorf("%s: grouped by %s, which nothing selected has", where, label)
				}
			}
		}
		return nil
	})
}

// find returns the metric that a series belongs to.
func (c *expressionChecker) find(series string) (name string, found bool) {
	if known, ok := c.known[series]; ok {
		return series, !known.histogram
	}
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		if name, cut := strings.CutSuffix(series, suffix); cut && c.known[name].histogram {
			return name, true
		}
	}
	return "", false
}

// The component can be added to an overlay, as README says.
func TestComponent(t *testing.T) {
	disk, memory := filesys.MakeFsOnDisk(), filesys.MakeFsInMemory()
	for _, folder := range []string{"base", "beside-kube-scheduler", "monitoring"} {
		entries, err := disk.ReadDir("../" + folder)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range entries {
			if strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".json") {
				if err := memory.WriteFile("/deploy/"+folder+"/"+name, []byte(read(t, "../"+folder+"/"+name))); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	overlay := "resources: [../beside-kube-scheduler]\ncomponents: [../monitoring]\n"
	if !strings.Contains(strings.Join(strings.Fields(read(t, "../README.md")), " "), strings.Join(strings.Fields(overlay), " ")) {
		t.Errorf("../README.md does not show this:\n%s", overlay)
	}
	if err := memory.WriteFile("/deploy/overlay/kustomization.yaml", []byte(overlay)); err != nil {
		t.Fatal(err)
	}
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(memory, "/deploy/overlay")
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for _, object := range built.Resources() {
		kinds[object.GetKind()]++
	}
	for _, kind := range []string{"Deployment", "Service", "ServiceMonitor", "PrometheusRule", "NetworkPolicy"} {
		if kinds[kind] != 1 {
			t.Errorf("%d objects of the kind %s, want one; there are %v", kinds[kind], kind, slices.Sorted(maps.Keys(kinds)))
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
