// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package storm

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// String says how far a run is.
func (s *totals) String() string {
	took := time.Since(s.begun)
	return fmt.Sprintf("%d steps in %d histories, %.1f simulated hours, %d attempts, %d bindings, %v (%.0f steps a second), seed %d",
		s.steps.Load(), s.histories.Load(), float64(s.seconds.Load())/3600, s.attempts.Load(), s.bound.Load(),
		took.Round(time.Second), float64(s.steps.Load())/took.Seconds(), s.seed.Load())
}

// report says now and then how far a run is, until the function that it returns is called.
func (s *totals) report(t *testing.T) (stop func()) {
	ended, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(progressInterval)
		defer ticker.Stop()
		for {
			select {
			case <-ended:
				return
			case <-ticker.C:
				t.Log(s)
			}
		}
	}()
	return func() {
		close(ended)
		<-done
	}
}

// describe says what happened in a history.
func (h *history) describe(w *world) string {
	text := &strings.Builder{}
	_, _ = fmt.Fprintf(text, "settings: %+v\nsteps:\n", h.settings)
	for i, s := range h.steps {
		_, _ = fmt.Fprintf(text, "%4d  %s\n", i+1, s)
	}
	text.WriteString("what happened:\n")
	for _, line := range w.trace {
		text.WriteString(line + "\n")
	}
	return text.String()
}

// timedChange is a change of an object.
type timedChange struct {
	at                time.Duration
	previous, current object
	// own is set for a change that a scheduler made.
	own bool
}

func describeChange(previous, current object) string {
	switch {
	case previous == nil:
		text := fmt.Sprintf("%v: %s is created", kindOf(current), current.GetName())
		if pod, isPod := current.(*v1.Pod); isPod {
			text += fmt.Sprintf(", cpu %dm, priority %d, labels %v", requestOf(pod), *pod.Spec.Priority, pod.Labels)
		}
		return text
	case current == nil:
		return fmt.Sprintf("%v: %s is gone", kindOf(previous), previous.GetName())
	}
	return fmt.Sprintf("%v: %s changes: %s", kindOf(current), current.GetName(), patchOf(previous, current))
}

// patchOf returns what makes one version of an object of another.
func patchOf(previous, current object) []byte {
	before, err := json.Marshal(previous)
	if err != nil {
		return nil
	}
	after, err := json.Marshal(current)
	if err != nil {
		return nil
	}
	patch, err := strategicpatch.CreateTwoWayMergePatch(before, after, current)
	if err != nil {
		return nil
	}
	return patch
}

// scenario returns what others than schedulers did as a scenario, which rouse simulate replays. It has no faults, and not the
// plugin of this package; what happened says what those did.
func (w *world) scenario() string {
	text := &strings.Builder{}
	text.WriteString("# for rouse simulate, without faults and the plugin Storm\n" +
		"apiVersion: rouse/v1alpha1\nkind: Scenario\nmetadata: {name: storm}\nspec:\n  steps:\n")
	for _, c := range w.changes {
		if action, o := c.action(); action != "" {
			_, _ = fmt.Fprintf(text, "  - at: %v\n    %s: %s\n", c.at, action, o)
		}
	}
	return text.String()
}

// action returns the step of a scenario that a change is; none if it follows from others.
func (c *timedChange) action() (action string, argument []byte) {
	named := c.current
	if named == nil {
		named = c.previous
	}
	about := map[string]any{"metadata": map[string]any{"name": named.GetName(), "namespace": named.GetNamespace()}}
	about["apiVersion"], about["kind"] = typeOf(named)
	switch {
	case c.own:
		return "", nil
	case c.current != nil && c.previous == nil:
		argument, _ = json.Marshal(c.current)
		return "create", withType(argument, about)
	case c.current == nil && c.previous.GetDeletionTimestamp() != nil && len(c.previous.GetFinalizers()) == 0:
		return "", nil // a simulated pod goes at once
	case c.current == nil && c.previous.GetDeletionTimestamp() != nil:
		return "patch", withType([]byte(`{"metadata":{"finalizers":null}}`), about)
	case c.current == nil, c.previous.GetDeletionTimestamp() == nil && c.current.GetDeletionTimestamp() != nil:
		return "delete", withType([]byte("{}"), about)
	}
	return "patch", withType(patchOf(c.previous, c.current), about)
}

func typeOf(o object) (apiVersion, kind string) {
	switch o.(type) {
	case *v1.Node:
		return "v1", "Node"
	case *policyv1.PodDisruptionBudget:
		return "policy/v1", "PodDisruptionBudget"
	}
	return "v1", "Pod"
}

// withType adds the type and the name to an object.
func withType(text []byte, about map[string]any) []byte {
	o := map[string]any{}
	if err := json.Unmarshal(text, &o); err != nil {
		return text
	}
	metadata, _ := o["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
	}
	for name, value := range about["metadata"].(map[string]any) {
		metadata[name] = value
	}
	for _, own := range []string{"resourceVersion", "managedFields"} {
		delete(metadata, own)
	}
	o["apiVersion"], o["kind"], o["metadata"] = about["apiVersion"], about["kind"], metadata
	whole, _ := json.Marshal(o)
	return whole
}
