// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rouse-scheduler/rouse/test/programs"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == workerCommand {
		main() // the test is its own worker
		return
	}
	os.Exit(m.Run())
}

// Small workloads run on a real API server, and everything is measured. One that does not end says what it waits for.
func TestWorkloads(t *testing.T) {
	kubernetes, all := suite(t)
	binaries := t.TempDir()
	if err := programs.Build(t.Context(), binaries, nil, programs.Rouse(), programs.KubeScheduler()); err != nil {
		t.Fatal(err)
	}
	both := schedulersIn(binaries)
	profiles := t.TempDir()
	for _, test := range []struct {
		workload   string
		schedulers []scheduler
		profiles   string
	}{
		{"misc/SchedulingBasic/5Nodes", both, ""},
		// Its measured phase is over before its profile is.
		{"misc/SchedulingWhileGated/1Node_10GatedPods", both[1:], profiles},
	} {
		t.Run(test.workload, func(t *testing.T) {
			c := &command{
				runs: 1, timeout: 2 * time.Minute, schedulers: []string{rouse, kubeScheduler}, kubernetes: kubernetes, profiles: test.profiles,
			}
			i := slices.IndexFunc(all, func(w *workload) bool { return w.name() == test.workload })
			row := c.measure(t.Context(), test.schedulers, all[i])
			if len(row.Failures) > 0 {
				t.Fatalf("failures: %v", row.Failures)
			}
			for _, who := range test.schedulers {
				got := row.Results[who.name][0]
				if got.Pods != 10 || got.Seconds <= 0 || got.PodsPerSecond.Average <= 0 || got.TotalCPUSeconds <= 0 ||
					got.PeakBytes < 1<<20 || got.Attempts["scheduled"].Count < 10 || got.Requests["POST"] < 10 {
					t.Errorf("%s has scheduled ten pods: %+v", who.name, got)
				}
			}
		})
	}
	if files, err := os.ReadDir(profiles); err != nil || len(files) != 1 {
		t.Errorf("the profiles are %v (error: %v), want one", files, err)
	}
	t.Run("stuck", func(t *testing.T) {
		stuck, err := loadSuite(stuckSuite(t))
		if err != nil {
			t.Fatal(err)
		}
		c := &command{runs: 1, timeout: 10 * time.Second, schedulers: []string{rouse}, kubernetes: kubernetes}
		got := c.measure(t.Context(), both, stuck[0]).Failures[rouse]
		const want = "./Stuck/1Node with rouse: operation 1, createPods: 2 of 2 pods are not Scheduled: " +
			"2 pods: Unschedulable: 0/1 nodes are available: 1 Insufficient cpu"
		if !strings.HasPrefix(got, want) || !strings.HasSuffix(got, ": it has not ended after 10s") {
			t.Errorf("the failure is %q", got)
		}
	})
}

// stuckSuite has two pods that fit nowhere.
func stuckSuite(t *testing.T) (folder string) {
	t.Helper()
	folder = t.TempDir()
	for name, text := range map[string]string{
		configFile: "- name: Stuck\n  workloads: [{name: 1Node}]\n  workloadTemplate:\n" +
			"  - {opcode: createNodes, count: 1, nodeTemplatePath: node.yaml}\n  - {opcode: createPods, count: 2, podTemplatePath: pod.yaml}\n",
		"node.yaml": "{apiVersion: v1, kind: Node, metadata: {name: small}, status: {capacity: {pods: 10, cpu: 1}}}",
		"pod.yaml": "{apiVersion: v1, kind: Pod, metadata: {generateName: p-}, spec: {containers: [" +
			"{name: c, image: i, resources: {requests: {cpu: 3}}}]}}",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func TestUnbuiltWorkloadsAreNamed(t *testing.T) {
	_, all := suite(t)
	var out strings.Builder
	c, err := parse([]string{"-topic", "podgroup|Disruption", "-labels", "short"})
	if err != nil {
		t.Fatal(err)
	}
	var chosen []*workload
	for _, w := range all {
		if c.selects(w) {
			chosen = append(chosen, w)
		}
	}
	if err := list(&out, chosen); err != nil {
		t.Fatal(err)
	}
	const note = ": Rouse does not build pods in groups (spec.schedulingGroup, feature gate GenericWorkload)"
	want := "default_preemption/PreemptionPodGroupDisruptionMode/FastTest_NoPodGroup [integration-test short]\n" +
		"default_preemption/PreemptionPodGroupDisruptionMode/FastTest_PodGroupDisruptionMode_Single [integration-test short]" + note + "\n" +
		"default_preemption/PreemptionPodGroupDisruptionMode/FastTest_PodGroupDisruptionMode_All [integration-test short]" + note + "\n" +
		"podgroup/basicscheduling/BasicScheduling/10Nodes_3Groups [integration-test short]" + note + "\n" +
		"podgroup/gangscheduling/GangScheduling/10Nodes_3Gangs [integration-test short]" + note + "\n" +
		"podgroup/tas/TopologyAwareScheduling/10Nodes_3Gangs [integration-test short]" + note + "\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("the list (-want +got):\n%s", diff)
	}
}
