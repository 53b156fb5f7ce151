// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package modelcheck

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/rouse-scheduler/rouse/simulate"
)

// manifest returns an object as a scenario has it.
func manifest(object apiruntime.Object) string {
	object = object.DeepCopyObject()
	switch o := object.(type) {
	case *v1.Pod:
		o.APIVersion, o.Kind = "v1", "Pod"
	case *v1.Node:
		o.APIVersion, o.Kind = "v1", "Node"
	}
	text, err := json.Marshal(object)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// patchOf returns the step of a scenario that changes some fields of an object.
func patchOf(kind, name, fields string) string {
	if metadata, ok := strings.CutPrefix(fields, "metadata: {"); ok {
		return fmt.Sprintf("patch: {apiVersion: v1, kind: %s, metadata: {name: %s, %s}", kind, name, metadata)
	}
	return fmt.Sprintf("patch: {apiVersion: v1, kind: %s, metadata: {name: %s}, %s}", kind, name, fields)
}

// scenario returns the changes of a trace as a scenario for rouse simulate, in which they come one second apart. When
// events are delivered and what comes in between of a cycle has no place there.
func (in *instance) scenario(trace []happened) string {
	var b strings.Builder
	for _, node := range in.nodes {
		fmt.Fprintf(&b, "%s\n---\n", manifest(node))
	}
	for _, pod := range in.pods {
		fmt.Fprintf(&b, "%s\n---\n", manifest(pod))
	}
	b.WriteString("apiVersion: rouse/v1alpha1\nkind: Scenario\nmetadata: {name: counter-example}\nspec:\n  steps:\n")
	second := 1
	for _, s := range trace {
		if s.scenario != "" {
			fmt.Fprintf(&b, "  - at: %ds\n    %s\n", second, s.scenario)
			second++
		}
	}
	if second == 1 {
		return "" // no user did anything
	}
	return b.String()
}

// happened is a step of a counter-example.
type happened struct {
	step
	label string
}

// describeTrace lists the steps of a counter-example.
func describeTrace(trace []happened) string {
	var b strings.Builder
	for i, s := range trace {
		who := "     "
		if s.environment {
			who = "user "
		}
		fmt.Fprintf(&b, "%4d. %s%s\n", i+1, who, s.label)
	}
	return b.String()
}

// TestScenariosAreReplayed replays all changes of each instance as the scenario of a counter-example.
func TestScenariosAreReplayed(t *testing.T) {
	for _, in := range instances() {
		t.Run(in.name, func(t *testing.T) {
			var all []happened
			for _, c := range in.changes {
				all = append(all, happened{step{scenario: c.scenario}, c.name})
			}
			file := filepath.Join(t.TempDir(), "scenario.yaml")
			if err := os.WriteFile(file, []byte(in.scenario(all)), 0o600); err != nil {
				t.Fatal(err)
			}
			input, err := simulate.Load([]string{file}, simulate.LoadOptions{})
			if err != nil {
				t.Fatalf("%v\n%s", err, in.scenario(all))
			}
			report, err := simulate.Run(t.Context(), input, simulate.Options{})
			if err != nil || len(report.Pods) == 0 {
				t.Errorf("replayed with %d pods, error %v", len(report.Pods), err)
			}
		})
	}
}
