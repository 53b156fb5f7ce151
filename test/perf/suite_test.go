// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/rouse-scheduler/rouse/test/programs"
)

// suite returns the suite, and the folder of the module k8s.io/kubernetes that go.mod names.
func suite(t *testing.T) (kubernetes string, all []*workload) {
	t.Helper()
	kubernetes, err := programs.ModuleFolder(t.Context(), "k8s.io/kubernetes")
	if err != nil {
		t.Fatal(err)
	}
	if all, err = loadSuite(filepath.Join(kubernetes, filepath.FromSlash(suiteFolder))); err != nil {
		t.Fatal(err)
	}
	return kubernetes, all
}

// Every file is read, with no operation and no field that the runner does not know; every parameter has a value, and every
// template is an object of a kind that clients know.
func TestWholeSuiteIsUnderstood(t *testing.T) {
	kubernetes, all := suite(t)
	files := 0
	err := filepath.WalkDir(filepath.Join(kubernetes, filepath.FromSlash(suiteFolder)), func(path string, _ os.DirEntry, err error) error {
		if filepath.Base(path) == configFile {
			files++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	topics := map[string]bool{}
	var failures []string
	for _, w := range all {
		topics[w.Topic] = true
		steps, err := w.prepare()
		if err != nil {
			failures = append(failures, err.Error())
			continue
		}
		for _, step := range steps {
			for _, m := range step.manifests {
				for _, index := range []int{0, max(0, m.count-1)} {
					checkManifest(t, w, m, index)
				}
			}
		}
	}
	// These two lack a parameter that their test case uses, and have no label.
	const lacks = ", operation 7: the workload has no parameter measurePods"
	want := []string{
		"dra/SchedulingWithResourceClaimTemplate/empty_100nodes" + lacks,
		"dra/SchedulingWithResourceClaimTemplate/empty_200nodes" + lacks,
	}
	if diff := cmp.Diff(want, failures); diff != "" {
		t.Errorf("workloads that cannot be prepared (-want +got):\n%s", diff)
	}
	if len(topics) != files {
		t.Errorf("workloads of %d topics, from %d files", len(topics), files)
	}
}

// checkManifest reads the object of an index as what it says it is.
func checkManifest(t *testing.T, w *workload, m *manifest, index int) {
	t.Helper()
	read, err := m.any(index)
	if err == nil {
		switch read.GetKind() {
		case "Pod":
			_, err = object[v1.Pod](m, index)
		case "Node":
			_, err = object[v1.Node](m, index)
		case "ResourceSlice":
			_, err = object[resourceapi.ResourceSlice](m, index)
		}
	}
	if err != nil {
		t.Errorf("%s: %v", w.name(), err)
		return
	}
	if kind := read.GroupVersionKind(); !scheme.Scheme.Recognizes(kind) {
		t.Errorf("%s: %s is of kind %s, which clients do not know", w.name(), m.path, kind)
	}
}

func TestParametersOfASuite(t *testing.T) {
	_, all := suite(t)
	i := slices.IndexFunc(all, func(w *workload) bool { return w.name() == "dra/SchedulingWithResourceClaimTemplate/match_fast" })
	if i < 0 {
		t.Fatal("the workload is not there")
	}
	steps, err := all[i].prepare()
	if err != nil {
		t.Fatal(err)
	}
	template, err := object[resourceapi.ResourceClaimTemplate](steps[6].manifests[0], 0)
	if err != nil {
		t.Fatal(err)
	}
	var requests []string
	for _, request := range template.Spec.Spec.Devices.Requests {
		requests = append(requests, request.Name)
	}
	if diff := cmp.Diff([]string{"req-0", "req-1", "req-2", "req-3", "req-4"}, requests); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if got := template.Spec.Spec.Devices.Constraints; len(got) != 1 || string(*got[0].MatchAttribute) != "resource.kubernetes.io/pciRoot" {
		t.Errorf("constraints are %v", got)
	}
	if got := template.Spec.Spec.Devices.Requests[0].Exactly.Selectors; got != nil {
		t.Errorf("selectors are %v, and should be none", got)
	}
}

func TestErrorsInASuite(t *testing.T) {
	head := "- name: Case\n  workloads:\n  - name: Size\n    params: {count: 3}\n  workloadTemplate:\n"
	for name, test := range map[string]struct{ file, want string }{
		"unknown operation":           {head + "  - opcode: createPlanets\n", `the runner does not know the operation "createPlanets"`},
		"unknown field of operation":  {head + "  - opcode: createNodes\n    colour: red\n", `createNodes: json: unknown field "colour"`},
		"unknown field of test case":  {head + "  - opcode: barrier\n  colour: red\n", `unknown field "colour"`},
		"unknown stage":               {head + "  - opcode: barrier\n    stageRequirement: Seen\n", `the runner does not know the stage "Seen"`},
		"unknown mode of churn":       {head + "  - opcode: churn\n    mode: replace\n", `the runner does not know the mode "replace"`},
		"parameter without value":     {head + "  - opcode: createPodSets\n    countParam: $other\n", "the workload has no parameter other"},
		"parameter of the wrong kind": {head + "  - opcode: createPods\n    countParam: $count\n    steadyStateParam: $count\n", "which is neither true nor false"},
		"template that is not there":  {head + "  - opcode: createAny\n    templatePath: missing.yaml\n", "missing.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			if err := os.WriteFile(filepath.Join(folder, configFile), []byte(test.file), 0o600); err != nil {
				t.Fatal(err)
			}
			all, err := loadSuite(folder)
			for _, w := range all {
				if err == nil {
					_, err = w.prepare()
				}
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is %v, and should say %q", err, test.want)
			}
		})
	}
}
