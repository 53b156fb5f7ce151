// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package resources_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	listersv1 "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/component-base/metrics/testutil"
	"k8s.io/utils/ptr"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/scheduler/metrics/resources"
)

func listerOf(t testing.TB, pods ...*v1.Pod) listersv1.PodLister {
	t.Helper()
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	for _, pod := range pods {
		if err := indexer.Add(pod); err != nil {
			t.Fatal(err)
		}
	}
	return listersv1.NewPodLister(indexer)
}

func podWith(requests, limits v1.ResourceList, changes ...func(*v1.Pod)) *v1.Pod {
	pod := objects.Pod("p").Namespace("ns").With(changes...).Build()
	pod.Spec.Containers[0].Resources = v1.ResourceRequirements{Requests: requests, Limits: limits}
	return pod
}

func get(t testing.TB, handler http.Handler) *httptest.ResponseRecorder {
	t.Helper()
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/metrics/resources", nil))
	if recorder.Code != http.StatusOK {
		t.Fatalf("got status %d and %q", recorder.Code, recorder.Body)
	}
	return recorder
}

// seriesIn returns the lines of an answer that are not comments.
func seriesIn(answer string) []string {
	var lines []string
	for line := range strings.Lines(answer) {
		if !strings.HasPrefix(line, "#") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

func TestSeries(t *testing.T) {
	inPhase := func(phase v1.PodPhase) func(*v1.Pod) { return func(pod *v1.Pod) { pod.Status.Phase = phase } }
	series := func(kind, node, priority, name, unit, value string) string {
		return fmt.Sprintf(`kube_pod_resource_%s{namespace="ns",node="%s",pod="p",priority="%s",resource="%s",scheduler="default-scheduler",unit="%s"} %s`,
			kind, node, priority, name, unit, value)
	}
	tests := []struct {
		name string
		pod  *v1.Pod
		want []string
	}{
		{"requests and limits", podWith(objects.Resources("cpu", "100m"), objects.Resources("cpu", "2")),
			[]string{series("limit", "", "", "cpu", "cores", "2"), series("request", "", "", "cpu", "cores", "0.1")}},
		{"node and priority", podWith(objects.Resources("memory", "1Ki"), nil, func(pod *v1.Pod) {
			pod.Spec.NodeName, pod.Spec.Priority = "n1", ptr.To[int32](-5)
		}), []string{series("request", "n1", "-5", "memory", "bytes", "1024")}},
		{"zero is left out", podWith(objects.Resources("cpu", "0", "memory", "0"), nil), nil},
		{"no requests", podWith(nil, nil), nil},
		{"units", podWith(objects.Resources("ephemeral-storage", "1", "storage", "2", "hugepages-2Mi", "4Mi",
			"attachable-volumes-csi", "3", "example.com/gpu", "4"), nil), []string{
			series("request", "", "", "attachable-volumes-csi", "integer", "3"),
			series("request", "", "", "ephemeral-storage", "bytes", "1"),
			series("request", "", "", "example.com/gpu", "", "4"),
			series("request", "", "", "hugepages-2Mi", "bytes", "4.194304e+06"),
			series("request", "", "", "storage", "bytes", "2"),
		}},
		{"the overhead counts, for limits only where there is one", podWith(objects.Resources("cpu", "1"), objects.Resources("memory", "1"), func(pod *v1.Pod) {
			pod.Spec.Overhead = objects.Resources("cpu", "1", "memory", "1")
		}), []string{
			series("limit", "", "", "memory", "bytes", "2"),
			series("request", "", "", "cpu", "cores", "2"),
			series("request", "", "", "memory", "bytes", "1"),
		}},
		{"what the pod as a whole sets", podWith(objects.Resources("cpu", "1"), nil, func(pod *v1.Pod) {
			pod.Spec.Resources = &v1.ResourceRequirements{Requests: objects.Resources("cpu", "3")}
		}), []string{series("request", "", "", "cpu", "cores", "3")}},
		{"running", podWith(objects.Resources("cpu", "1"), nil, inPhase(v1.PodRunning)), []string{series("request", "", "", "cpu", "cores", "1")}},
		{"succeeded", podWith(objects.Resources("cpu", "1"), nil, inPhase(v1.PodSucceeded)), nil},
		{"failed", podWith(objects.Resources("cpu", "1"), nil, inPhase(v1.PodFailed)), nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := seriesIn(get(t, resources.Handler(listerOf(t, test.pod), nil)).Body.String())
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("series (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSeriesFollowThePods(t *testing.T) {
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	handler := resources.Handler(listersv1.NewPodLister(indexer), nil)
	pod := podWith(objects.Resources("cpu", "1"), nil)
	for _, step := range []struct {
		change func(any) error
		want   int
	}{{indexer.Add, 1}, {indexer.Delete, 0}, {indexer.Add, 1}} {
		if err := step.change(pod); err != nil {
			t.Fatal(err)
		}
		if got := seriesIn(get(t, handler).Body.String()); len(got) != step.want {
			t.Errorf("got series %q, want %d", got, step.want)
		}
	}
}

func TestOnlyTheLeaderReports(t *testing.T) {
	leads := false
	handler := resources.Handler(listerOf(t, podWith(objects.Resources("cpu", "1"), nil)), func() bool { return leads })
	if body := get(t, handler).Body.String(); body != "" {
		t.Errorf("not leading, got %q, want an empty answer", body)
	}
	leads = true
	if body := get(t, handler).Body.String(); len(seriesIn(body)) != 1 {
		t.Errorf("leading, got %q, want one series", body)
	}
}

func TestHelpAndLint(t *testing.T) {
	body := get(t, resources.Handler(listerOf(t, podWith(objects.Resources("cpu", "1"), objects.Resources("cpu", "1"))), nil)).Body.String()
	for _, kind := range []string{"request", "limit"} {
		for _, line := range []string{"# HELP kube_pod_resource_" + kind + " [STABLE] ", "# TYPE kube_pod_resource_" + kind + " gauge"} {
			if !strings.Contains(body, line) {
				t.Errorf("the answer lacks %q:\n%s", line, body)
			}
		}
	}
	problems, err := testutil.NewPromLinter(strings.NewReader(body)).Lint()
	if err != nil || len(problems) != 0 {
		t.Errorf("linting: %v, error %v", problems, err)
	}
}

// What a pod takes can be summed up over the cluster with a query.
func Example() {
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	pod := objects.Pod("web").Namespace("shop").Node("n1").Requests("cpu", "250m").Build()
	if err := indexer.Add(pod); err != nil {
		fmt.Println(err)
		return
	}
	handler := resources.Handler(listersv1.NewPodLister(indexer), nil)

	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics/resources", nil))
	fmt.Println(seriesIn(answer.Body.String())[0])
	// Output: kube_pod_resource_request{namespace="shop",node="n1",pod="web",priority="",resource="cpu",scheduler="default-scheduler",unit="cores"} 0.25
}
