// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/internal/manifest"
)

// expectation is what should have become of pods when its step is reached.
type expectation struct {
	Pods []podExpectation `json:"pods"`

	source source
}

// podExpectation is what should have become of one pod: that it exists, and that every field that is set is right.
type podExpectation struct {
	// Namespace is default if it is empty.
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Node is where the pod should be; the empty name means nowhere, nil that it does not matter.
	Node *string `json:"node"`
	// Pool is where the pod should wait, or bound or deleted.
	Pool Pool `json:"pool"`
	// RejectedBy are the plugins that should have rejected the pod in its last attempt, all of them, in any order. An
	// empty list means that none should have, nil that it does not matter.
	RejectedBy []string `json:"rejectedBy"`
	// WokenBy is the label of the event that should have woken the pod last.
	WokenBy string `json:"wokenBy"`
}

// complete checks the expectation and remembers where it is written.
func (e *expectation) complete(from source) error {
	e.source = from
	if len(e.Pods) == 0 {
		return from.errorf("nothing is expected; list the pods under expect.pods")
	}
	var errs manifest.ErrorList
	for i := range e.Pods {
		errs.Add(e.Pods[i].complete(from.field("pods" + indexed(i))))
	}
	return errs.Err()
}

func (p *podExpectation) complete(from source) error {
	if p.Namespace == "" {
		p.Namespace = metav1.NamespaceDefault
	}
	if p.Name == "" {
		return from.errorf("the name of the pod is missing")
	}
	if p.Pool != "" && !slices.Contains(Pools(), p.Pool) {
		return withSuggestion(from.field("pool"), string(p.Pool), poolNames(), "there is no pool %q; the pools are %s",
			p.Pool, strings.Join(poolNames(), ", "))
	}
	if p.WokenBy != "" && !knownLabel(p.WokenBy) {
		return withSuggestion(from.field("wokenBy"), p.WokenBy, eventLabels(), "there is no event %q", p.WokenBy)
	}
	return nil
}

func withSuggestion(from source, written string, candidates []string, format string, args ...any) error {
	inputErr := from.document.Errorf(from.path, format, args...)
	inputErr.Suggestion = manifest.Suggest(written, candidates)
	return inputErr
}

func poolNames() []string {
	var names []string
	for _, pool := range Pools() {
		names = append(names, string(pool))
	}
	return names
}

// knownLabel reports whether an event can have a label. Those of custom resources have the dots of their names in them.
func knownLabel(label string) bool {
	return strings.Contains(label, ".") || slices.Contains(eventLabels(), label)
}

// eventLabels returns the labels of all events that are not about custom resources.
func eventLabels() []string {
	labels := []string{framework.EventUnschedulableTimeout().Label(), framework.EventForceActivate().Label()}
	for _, resource := range framework.Resources() {
		for _, action := range resource.Actions {
			labels = append(labels, fwk.ClusterEvent{Resource: resource.Name, ActionType: action.Bit}.Label())
		}
		labels = append(labels, fwk.ClusterEvent{Resource: resource.Name, ActionType: fwk.Update}.Label())
	}
	return labels
}

// ExpectationFailure is one pod that is not what a scenario expects.
type ExpectationFailure struct {
	// Position is file:line:column of the expectation.
	Position string
	// At is when it was checked.
	At Time
	// Pod is namespace/name.
	Pod string
	// Wanted and Found are about the same things, such as "pool unschedulable" and "pool bound".
	Wanted, Found string
}

// String returns everything in one line.
func (f ExpectationFailure) String() string {
	return fmt.Sprintf("%s: at %v: pod %s: wanted %s; found %s", f.Position, f.At, f.Pod, f.Wanted, f.Found)
}

// difference compares a pod with what is expected of it; both texts are empty if everything is right.
func (p *podExpectation) difference(found PodState, exists bool) (wanted, got string) {
	if !exists {
		return p.String(), "no such pod"
	}
	var wants, gots []string
	differ := func(what, want, got string) {
		wants = append(wants, what+" "+orNone(want))
		gots = append(gots, what+" "+orNone(got))
	}
	if p.Node != nil && *p.Node != found.Node {
		differ("node", *p.Node, found.Node)
	}
	if p.Pool != "" && p.Pool != found.Pool {
		differ("pool", string(p.Pool), string(found.Pool))
	}
	if p.RejectedBy != nil && !sameNames(p.RejectedBy, found.RejectedBy) {
		differ("rejectedBy", strings.Join(p.RejectedBy, ", "), strings.Join(found.RejectedBy, ", "))
	}
	if p.WokenBy != "" && p.WokenBy != found.WokenBy {
		differ("wokenBy", p.WokenBy, found.WokenBy)
	}
	if len(wants) > 0 && found.Message != "" {
		gots = append(gots, fmt.Sprintf("message %q", found.Message))
	}
	return strings.Join(wants, ", "), strings.Join(gots, ", ")
}

// String says what is expected.
func (p *podExpectation) String() string {
	var parts []string
	if p.Node != nil {
		parts = append(parts, "node "+orNone(*p.Node))
	}
	if p.Pool != "" {
		parts = append(parts, "pool "+string(p.Pool))
	}
	if p.RejectedBy != nil {
		parts = append(parts, "rejectedBy "+orNone(strings.Join(p.RejectedBy, ", ")))
	}
	if p.WokenBy != "" {
		parts = append(parts, "wokenBy "+p.WokenBy)
	}
	if len(parts) == 0 {
		return "that it exists"
	}
	return strings.Join(parts, ", ")
}

func orNone(text string) string {
	if text == "" {
		return "(none)"
	}
	return text
}

func sameNames(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}
