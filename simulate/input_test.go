// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rouse-scheduler/rouse/simulate"
)

// kubectlList is what kubectl get nodes,pods -A -o yaml prints, in short: pods before nodes, with everything that a
// cluster adds, and a field that this version does not know.
const kubectlList = `
apiVersion: v1
items:
- apiVersion: v1
  kind: Pod
  metadata:
    creationTimestamp: "2025-11-03T08:00:00Z"
    generateName: web-
    labels: {app: web}
    managedFields:
    - {apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {"f:metadata": {}}, manager: kubectl, operation: Update, time: "2025-11-03T08:00:00Z"}
    name: web-abcde
    namespace: shop
    resourceVersion: "4711"
    uid: 0f4c3c1e-0000-4000-8000-000000000001
  spec:
    containers:
    - {image: registry.example/web:1, name: web, resources: {requests: {cpu: "3"}}}
    nodeName: n1
    schedulerName: default-scheduler
    inventedLater: {x: 1}
  status: {phase: Running, startTime: "2025-11-03T08:00:05Z"}
- apiVersion: v1
  kind: Pod
  metadata: {name: job-1, namespace: shop, uid: 0f4c3c1e-0000-4000-8000-000000000002}
  spec:
    containers:
    - {image: registry.example/job:1, name: job, resources: {requests: {cpu: "3"}}}
    nodeName: n1
  status: {phase: Succeeded}
- apiVersion: v1
  kind: Pod
  metadata: {name: new, namespace: shop, uid: 0f4c3c1e-0000-4000-8000-000000000003}
  spec:
    containers:
    - {image: registry.example/web:1, name: web, resources: {requests: {cpu: "1"}}}
  status: {phase: Pending}
- apiVersion: v1
  kind: Node
  metadata: {name: n1, uid: 0f4c3c1e-0000-4000-8000-000000000004}
  spec: {}
  status:
    allocatable: {cpu: "4", memory: 8Gi, pods: "110"}
    capacity: {cpu: "4", memory: 8Gi, pods: "110"}
    nodeInfo: {architecture: amd64, bootID: b, containerRuntimeVersion: c, kernelVersion: k, kubeProxyVersion: "", kubeletVersion: v1.37.1,
      machineID: m, operatingSystem: linux, osImage: o, systemUUID: s}
kind: List
metadata: {resourceVersion: ""}
`

func TestListOfKubectlIsTakenAsItIs(t *testing.T) {
	report := run(t, kubectlList, simulate.Options{})
	// The pod that runs and the new one fill the node; the finished one takes nothing and is not there.
	want := []simulate.PodState{
		{Namespace: "shop", Name: "new", Node: "n1", Pool: simulate.PoolBound, Attempts: 1, RejectedBy: []string{}, BoundAt: "0s"},
		{Namespace: "shop", Name: "web-abcde", Node: "n1", Pool: simulate.PoolBound, RejectedBy: []string{}},
	}
	if diff := cmp.Diff(want, report.Pods); diff != "" {
		t.Errorf("pods differ (-want +got):\n%s", diff)
	}
	warnings := []string{
		"input.yaml:21:5: items[0].spec.inventedLater: unknown field; the field is ignored",
		"input.yaml:13:5: items[0].metadata.namespace: the input has no Namespace shop",
		"the input has no PodDisruptionBudget, and preemption respects none; the cluster has more than the input; kubectl get " +
			simulate.KubectlResources + " -A -o yaml prints everything that is read",
	}
	if diff := cmp.Diff(warnings, report.Warnings); diff != "" {
		t.Errorf("warnings differ (-want +got):\n%s", diff)
	}
}

func TestListOfOneKindMayLeaveItsKindOut(t *testing.T) {
	report := run(t, documents(
		`{"apiVersion": "v1", "kind": "PodList", "items": [{"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c"}]}}]}`,
		`{"apiVersion": "v1", "kind": "NodeList", "items": [{"metadata": {"name": "n1"}, "status": {"capacity": {"cpu": "1", "pods": "5"}}}]}`,
	), simulate.Options{})
	if got := states(report)["default/a"].Node; got != "n1" {
		t.Errorf("pod a is on node %q, want n1", got)
	}
}

func TestNodesComeBeforePods(t *testing.T) {
	report := run(t, documents(pod("a", "1", ""), node("n1", "")), simulate.Options{})
	if got := states(report)["default/a"]; got.Node != "n1" || got.Attempts != 1 {
		t.Errorf("got %+v, want the pod on n1 in the first attempt", got)
	}
}

func TestUnknownFieldsAreWarnedOfOnce(t *testing.T) {
	input := parse(t, documents(
		pod("a", "1", ", nodeSelecter: {disk: ssd}"),
		pod("b", "1", ", nodeSelecter: {disk: ssd}"),
		pod("c", "1", ", nodeSelecter: {disk: ssd}, affinity: {nodeAffinty: {}}"),
	))
	if len(input.Warnings) != 2 {
		t.Fatalf("got %d warnings, want 2: %q", len(input.Warnings), input.Warnings)
	}
	for _, want := range []string{`did you mean "nodeSelector"?`, "2 others like it"} {
		if !strings.Contains(input.Warnings[0], want) {
			t.Errorf("warning %q does not mention %q", input.Warnings[0], want)
		}
	}
}

func TestUnknownKindsAreCountedInOneWarning(t *testing.T) {
	report := run(t, documents(
		"{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, namespace: default}}",
		"{apiVersion: apps/v1, kind: Deployment, metadata: {name: b, namespace: default}}",
		"{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}}",
		"{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration}",
		node("n1", ""),
	), simulate.Options{})
	want := []string{"ignored objects of kinds that no plugin asks for: 2 of apps/v1 Deployment, 1 of example.com/v1 Widget, " +
		"1 of kubescheduler.config.k8s.io/v1 KubeSchedulerConfiguration"}
	if diff := cmp.Diff(want, report.Warnings); diff != "" {
		t.Errorf("warnings differ (-want +got):\n%s", diff)
	}
}

func TestGeneratedNamesAreTheSameInEveryRun(t *testing.T) {
	generated := `{apiVersion: v1, kind: Pod, metadata: {generateName: web-}, spec: {containers: [{name: c}]}}`
	report := run(t, documents(generated, pod("web-2", "1", ""), generated, generated), simulate.Options{})
	var names []string
	for _, state := range report.Pods {
		names = append(names, state.Name)
	}
	if diff := cmp.Diff([]string{"web-1", "web-2", "web-3", "web-4"}, names); diff != "" {
		t.Errorf("names differ (-want +got):\n%s", diff)
	}
}

func TestFoldersAreReadInOrder(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("b/pods.json", `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": [{"name": "c"}]}}`)
	write("a.yml", node("n1", ""))
	write("c.yaml", scenario("{expect: {pods: [{name: a, node: n1}]}}"))
	write("README.md", "not a manifest")
	write(".hidden.yaml", "not: a manifest")
	write(".git/x.yaml", "not: a manifest")
	input, err := simulate.Load([]string{folder}, simulate.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	report, err := simulate.Run(t.Context(), input, simulate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	wantNoFailures(t, report)
}

func TestPathsThatCannotBeRead(t *testing.T) {
	tests := map[string]struct {
		paths []string
		want  string
	}{
		"no path":           {nil, "name at least one file"},
		"a missing file":    {[]string{"missing.yaml"}, "missing.yaml"},
		"an empty folder":   {[]string{t.TempDir()}, "no files that end in"},
		"no standard input": {[]string{"-"}, "no standard input"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := simulate.Load(test.paths, simulate.LoadOptions{})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got error %v, want one with %q", err, test.want)
			}
		})
	}
}

func TestStandardInput(t *testing.T) {
	input, err := simulate.Load([]string{"-"}, simulate.LoadOptions{Stdin: strings.NewReader(kubectlList)})
	if err != nil {
		t.Fatal(err)
	}
	report, err := simulate.Run(t.Context(), input, simulate.Options{})
	if err != nil || report.Summary.Pods != 2 {
		t.Errorf("got %v and %+v, want two pods", err, report)
	}
	_, err = simulate.Load([]string{"-"}, simulate.LoadOptions{Stdin: strings.NewReader("kind: [")})
	if err == nil || !strings.HasPrefix(err.Error(), "standard input:1") {
		t.Errorf("got error %v, want one that names standard input", err)
	}
}

func TestScenarioCannotBePartOfAList(t *testing.T) {
	_, err := simulate.Parse("list.yaml", []byte("{apiVersion: v1, kind: List, items: ["+scenario("{expect: {pods: [{name: a}]}}")+"]}"))
	if err == nil || !strings.Contains(err.Error(), "list.yaml:1:") || !strings.Contains(err.Error(), "document of its own") {
		t.Errorf("got error %v, want one about the list", err)
	}
}

func TestInputIsNotChangedByARun(t *testing.T) {
	text := documents(node("n1", ""), pod("a", "1", ""),
		`{apiVersion: v1, kind: Node, metadata: {name: n2}, status: {capacity: {cpu: 4, pods: 9}}}`,
		`{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 7}`,
		`{apiVersion: v1, kind: Pod, metadata: {name: full, labels: {app: web}, annotations: {a: b}, finalizers: [example.com/f]}, spec: {
			priorityClassName: high, hostNetwork: true,
			initContainers: [{name: i, resources: {limits: {cpu: 1}}}],
			containers: [{name: c, resources: {limits: {cpu: 1, memory: 1Gi}, requests: {cpu: 500m}}, ports: [{containerPort: 80}]}],
			affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [
				{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {a: b}}, matchLabelKeys: [app]}]}}}}`,
		scenario("{at: 1s, create: "+pod("b", "1", "")+"}", "{at: 2s, patch: {apiVersion: v1, kind: Node, metadata: {name: n1, labels: {a: b}}}}",
			"{at: 3s, delete: {apiVersion: v1, kind: Pod, metadata: {name: full}}}"))
	input := parse(t, text)
	var wg sync.WaitGroup
	reports := make([]string, 4)
	for i := range reports {
		wg.Go(func() {
			report, err := simulate.Run(t.Context(), input, simulate.Options{Trace: true})
			if err != nil {
				t.Error(err)
				return
			}
			reports[i] = encode(t, report)
		})
	}
	wg.Wait()
	reports = append(reports, encode(t, run(t, text, simulate.Options{Trace: true})))
	for _, report := range reports {
		if diff := cmp.Diff(reports[0], report); diff != "" {
			t.Errorf("a run of the same input differs (-first +other):\n%s", diff)
		}
	}
}

func TestInputThatIsReplayedOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cluster.yaml")
	text := documents(node("n1", ""), pod("a", "1", ""), pod("b", "1", ""), scenario("{at: 1s, create: "+pod("c", "1", "")+"}"))
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	input, err := simulate.Load([]string{path}, simulate.LoadOptions{Once: true})
	if err != nil {
		t.Fatal(err)
	}
	report, err := simulate.Run(t.Context(), input, simulate.Options{Trace: true})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(encode(t, run(t, text, simulate.Options{Trace: true})), encode(t, report)); diff != "" {
		t.Errorf("the report differs from that of an input that stays as it is (-want +got):\n%s", diff)
	}
	var wrong *simulate.InputError
	if _, err := simulate.Run(t.Context(), input, simulate.Options{}); !errors.As(err, &wrong) {
		t.Errorf("the second replay: got error %v, want an InputError", err)
	}
}

func TestEqualResourcesOfSeveralPods(t *testing.T) {
	report := run(t, documents(node("n1", ""), pod("a", "1000m", ""), pod("b", "1", ""), pod("c", "1", ""),
		scenario("{at: 1s, patch: {apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: c, resources: {requests: {cpu: 2}}}]}}}",
			"{at: 2s, create: "+pod("d", "1", "")+"}")), simulate.Options{})
	if got := states(report)["default/d"].Pool; got != simulate.PoolUnschedulable {
		t.Errorf("a pod of 1 next to pods of 2, 1 and 1 on a node of 4 is %s", got)
	}
	report = run(t, documents(node("n1", ""), pod("a", "1", ""), pod("b", "1", ""), pod("c", "1", ""), pod("d", "1", "")), simulate.Options{})
	if report.Summary.Bound != 4 {
		t.Errorf("%d of 4 pods fit, want all", report.Summary.Bound)
	}
}
