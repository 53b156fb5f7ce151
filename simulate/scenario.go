// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rouse-scheduler/rouse/internal/manifest"
)

const (
	scenarioKind    = "Scenario"
	scenarioGroup   = "rouse"
	scenarioVersion = scenarioGroup + "/v1alpha1"
)

// timeline is a document of kind Scenario: what happens to the cluster, and what should have become of it.
//
// Times count from the start of the scenario, which for the second and later ones is when the one before has settled.
// Steps with the same time happen together, before any pod is tried. A step without a time happens once the one before
// has settled, that is when nothing more can happen by itself except that pods are tried again because they waited too
// long; but not later than the next step that has a time.
type timeline struct {
	Name  string
	Steps []*timelineStep

	source source
}

// stepAction is what a step does.
type stepAction string

// The actions of steps.
const (
	actionCreate stepAction = "create"
	actionPatch  stepAction = "patch"
	actionDelete stepAction = "delete"
	actionExpect stepAction = "expect"
)

// timelineStep is one thing that happens in a timeline.
type timelineStep struct {
	// At is when, since the start of the scenario; nil means once the step before has settled.
	At     *time.Duration
	Action stepAction
	// Expect is what should be; nil unless that is the action.
	Expect *expectation

	// kind and name of the object to patch or delete.
	kind            *kind
	namespace, name string
	// object is what to create, patch a strategic merge patch.
	object object
	patch  []byte
	source source
}

// String names the step for a message, such as "patch Node n1".
func (s *timelineStep) String() string {
	if s.Action == actionExpect {
		return string(s.Action)
	}
	return string(s.Action) + " " + s.kind.describe(s.namespace, s.name)
}

// scenarioDocument is a Scenario as it is written.
type scenarioDocument struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        metav1.ObjectMeta `json:"metadata"`
	Spec            struct {
		Steps []stepDocument `json:"steps"`
	} `json:"spec"`
}

type stepDocument struct {
	At     *metav1.Duration `json:"at"`
	Create json.RawMessage  `json:"create"`
	Patch  json.RawMessage  `json:"patch"`
	Delete json.RawMessage  `json:"delete"`
	Expect *expectation     `json:"expect"`
}

// isScenario reports whether a document is meant to be a scenario, of whatever version.
func isScenario(header manifest.Header) bool {
	return strings.HasPrefix(header.APIVersion, scenarioGroup+"/") || header.Kind == scenarioKind && header.APIVersion == ""
}

func (l *loader) readScenario(document *manifest.Document, header manifest.Header) {
	whole := source{document: document}
	if header.APIVersion != scenarioVersion {
		l.errs.Add(whole.field("apiVersion").errorf("%q is not known; a %s has apiVersion %s", header.APIVersion, scenarioKind, scenarioVersion))
		return
	}
	if header.Kind != scenarioKind {
		l.errs.Add(whole.field("kind").errorf("%q is not a kind of %s; the only one is %s", header.Kind, scenarioVersion, scenarioKind))
		return
	}
	var written scenarioDocument
	if err := document.Decode(&written); err != nil {
		l.errs.Add(err)
		return
	}
	if len(written.Spec.Steps) == 0 {
		l.errs.Add(whole.field("spec.steps").errorf("the scenario has no steps"))
		return
	}
	scenario := &timeline{Name: written.Metadata.Name, source: whole}
	steps := whole.field("spec.steps")
	for i := range written.Spec.Steps {
		step, err := l.readStep(steps.field(indexed(i)), &written.Spec.Steps[i])
		if err != nil {
			l.errs.Add(err)
			continue
		}
		scenario.Steps = append(scenario.Steps, step)
	}
	l.errs.Add(checkOrder(scenario.Steps).Err())
	l.input.scenarios = append(l.input.scenarios, scenario)
}

func indexed(i int) string { return "[" + strconv.Itoa(i) + "]" }

// checkOrder reports steps that are to happen before one that is written above them.
func checkOrder(steps []*timelineStep) manifest.ErrorList {
	var errs manifest.ErrorList
	var latest time.Duration
	for _, step := range steps {
		if step.At == nil {
			continue
		}
		if *step.At < latest {
			errs.Add(step.source.field("at").errorf("%v is before the time of an earlier step, %v; steps must be in the order of their times",
				*step.At, latest))
		}
		latest = max(latest, *step.At)
	}
	return errs
}

func (l *loader) readStep(from source, written *stepDocument) (*timelineStep, error) {
	step := &timelineStep{source: from}
	if written.At != nil {
		if written.At.Duration < 0 {
			return nil, from.field("at").errorf("%v is before the start of the scenario", written.At.Duration)
		}
		step.At = &written.At.Duration
	}
	actions := map[stepAction]json.RawMessage{
		actionCreate: written.Create, actionPatch: written.Patch, actionDelete: written.Delete,
	}
	var given []string
	for action, raw := range actions {
		if len(raw) > 0 && string(raw) != "null" {
			given = append(given, string(action))
			step.Action = action
		}
	}
	if written.Expect != nil {
		given = append(given, string(actionExpect))
		step.Action = actionExpect
	}
	if len(given) != 1 {
		slices.Sort(given)
		return nil, from.errorf("%s", wrongActions(given))
	}
	if step.Action == actionExpect {
		step.Expect = written.Expect
		return step, step.Expect.complete(from.field(string(actionExpect)))
	}
	return step, l.readAction(step, from.field(string(step.Action)), actions[step.Action])
}

func wrongActions(given []string) string {
	if len(given) == 0 {
		return "the step does nothing: it needs one of create, patch, delete and expect"
	}
	return fmt.Sprintf("the step has %s, but a step does one thing; make it %d steps with the same time",
		strings.Join(given, " and "), len(given))
}

// readAction reads the object that a step creates, patches or deletes.
func (l *loader) readAction(step *timelineStep, from source, raw []byte) error {
	header, err := headerOf(from, raw)
	if err != nil {
		return err
	}
	if step.kind, err = l.stepKind(from, header); err != nil {
		return err
	}
	step.namespace, step.name = step.kind.namespaceOf(header.Namespace), header.Name
	switch step.Action {
	case actionCreate:
		if step.object, err = l.decodeObject(from, raw, header); err != nil {
			return err
		}
		if step.name == "" && step.object.GetGenerateName() != "" {
			step.name = step.object.GetGenerateName()
		}
	case actionPatch:
		step.patch = raw
		if err := l.checkPatch(step.kind, from, raw); err != nil {
			return err
		}
	case actionDelete:
		if err := l.checkPatch(step.kind, from, raw); err != nil {
			return err
		}
	}
	if step.name == "" {
		return from.field("metadata").errorf("the %s has no name; set metadata.name", header.Kind)
	}
	return nil
}

// checkPatch reports values of the wrong type in a part of an object.
func (l *loader) checkPatch(k *kind, from source, raw []byte) error {
	if err := checkSize(from, raw); err != nil {
		return err
	}
	if !k.scheduling {
		return from.document.CheckQuantities(from.path, raw, k.newObject())
	}
	return l.decodeTyped(from, raw, k.newObject())
}

// stepKind finds the kind that a step is about. In a scenario, other than in manifests that came out of a cluster, a
// kind that Kubernetes does not have is a mistake.
func (l *loader) stepKind(from source, header manifest.Header) (*kind, error) {
	if header.Kind == "" || header.APIVersion == "" {
		return nil, from.errorf("the object needs apiVersion and kind")
	}
	if isScenario(header) {
		return nil, from.errorf("a %s is a document of its own and cannot be made by a step", scenarioKind)
	}
	if isList(header) {
		return nil, from.errorf("a step is about one object, not a list; make it a step for each, with the same time")
	}
	version, err := schema.ParseGroupVersion(header.APIVersion)
	if err != nil {
		return nil, from.field("apiVersion").errorf("%w", err)
	}
	gvk := version.WithKind(header.Kind)
	k := l.kinds.find(gvk)
	if l.kinds.byKind[gvk] != nil || !knownVersion(version) {
		return k, nil
	}
	inputErr := from.document.Errorf(from.field("kind").path, "%s has no kind %q", header.APIVersion, header.Kind)
	inputErr.Suggestion = manifest.Suggest(header.Kind, l.kinds.names(version))
	return nil, inputErr
}

// names returns the names of the kinds of a version.
func (t *kindTable) names(version schema.GroupVersion) []string {
	var names []string
	for gvk := range t.byKind {
		if gvk.GroupVersion() == version {
			names = append(names, gvk.Kind)
		}
	}
	return names
}
