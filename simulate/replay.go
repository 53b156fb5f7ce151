// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// Replay creates the objects of an input and makes the steps of its scenarios, one scenario after the other, until
// nothing more can happen. An error that is an [*InputError] names the place in the input.
func (c *Cluster) Replay(input *Input) error { return c.replay(input, nil) }

// ReplayUntil is Replay that stops at a point in time: steps that are due later are not made. If nothing more can happen
// earlier, time passes up to then.
func (c *Cluster) ReplayUntil(input *Input, end Time) error {
	last := startTime().Add(time.Duration(end))
	return c.replay(input, &last)
}

// errEnd ends a replay at its time.
var errEnd = errors.New("the replay is at its end")

func (c *Cluster) replay(input *Input, end *time.Time) error {
	if input.taken {
		return &InputError{errors.New("the input was loaded to be replayed once, and has been; load it again without Once")}
	}
	if input.once {
		input.taken = true
	}
	c.warnings = append(c.warnings, input.Warnings...)
	for _, scenario := range input.scenarios {
		c.progress.total += len(scenario.Steps)
	}
	r := &replay{Cluster: c, end: end, custom: customKinds(input), ignored: make(map[schema.GroupVersionKind]int)}
	err := c.watch(func() error {
		if err := r.run(input); err != nil || end == nil {
			return err
		}
		return c.advanceTo(*end)
	})
	if err != nil && !errors.Is(err, errEnd) {
		return err
	}
	r.summarizeWarnings()
	c.progress.update(c, true)
	return nil
}

// replay is the replay of one input.
type replay struct {
	*Cluster
	// end is when to stop; nil means when everything has settled.
	end *time.Time
	// custom is what the input says of kinds that have no Go type.
	custom map[schema.GroupKind]customKind
	// ignored counts the objects of each kind that means nothing here.
	ignored map[schema.GroupVersionKind]int
	// late counts the steps whose objects were gone, and names the first of them.
	late  int
	first string
}

func (r *replay) run(input *Input) error {
	if err := r.createAll(input); err != nil {
		return err
	}
	for _, scenario := range input.scenarios {
		r.base = r.clock.Now()
		for i, step := range scenario.Steps {
			if err := r.step(scenario, i, step); err != nil {
				return err
			}
			r.progress.done++
		}
		if err := r.settleUntil(time.Time{}); err != nil {
			return err
		}
	}
	return r.settleUntil(time.Time{})
}

// settleUntil is settle, and returns errEnd if the replay comes to its end first.
func (r *replay) settleUntil(limit time.Time) error {
	if r.end == nil || !limit.IsZero() && !limit.After(*r.end) {
		return r.settle(limit)
	}
	if err := r.settle(*r.end); err != nil {
		return err
	}
	if next, found := r.nextEvent(false); found && next.After(*r.end) && !r.tracker.stuck() {
		return r.stop()
	}
	return nil
}

// stop lets time pass up to the end.
func (r *replay) stop() error {
	if err := r.advanceTo(*r.end); err != nil {
		return err
	}
	return errEnd
}

func (r *replay) createAll(input *Input) error {
	for i, loaded := range input.objects {
		if input.once {
			input.objects[i] = nil
		}
		k := r.resolve(r.store.kinds.find(kindOf(loaded.object)))
		if !r.meaningful(k) {
			continue
		}
		if err := r.createLoaded(k, loaded.object); err != nil {
			return &InputError{loaded.source.errorf("creating %s: %w", k.describe(loaded.object.GetNamespace(), loaded.object.GetName()), plain(err))}
		}
	}
	return nil
}

// createLoaded creates an object that was read. Objects of kinds that have a Go type but no part in scheduling were
// read without it.
func (r *replay) createLoaded(k *kind, loaded object) error {
	other, untyped := loaded.(*unstructured.Unstructured)
	if !untyped || k.custom() {
		created := ownCopy(loaded)
		created.SetNamespace(k.namespaceOf(created.GetNamespace()))
		_, err := r.create(k, created)
		return err
	}
	typed := k.newObject()
	data, err := other.MarshalJSON()
	if err == nil {
		err = utiljson.Unmarshal(data, typed)
	}
	if err == nil {
		_, err = r.create(k, typed)
	}
	return err
}

// resolve returns the kind as the input defines it, if it does, otherwise with the resource name under which a plugin follows
// it.
func (r *replay) resolve(k *kind) *kind {
	defined, found := r.custom[k.GroupKind()]
	if !found || !k.custom() {
		return r.followed(k)
	}
	resolved := *k
	resolved.namespaced = defined.namespaced
	if defined.plural == "" {
		return r.followed(&resolved)
	}
	resolved.resource.Resource = defined.plural
	return &resolved
}

// meaningful reports whether the scheduler or a plugin would notice an object of a kind, and counts those that it
// would not.
func (r *replay) meaningful(k *kind) bool {
	if k.scheduling || r.watched(k.resource) {
		return true
	}
	r.ignored[k.GroupVersionKind]++
	return false
}

// customKind is what an input says of a custom kind.
type customKind struct {
	// plural is the name of the resource; empty if it is not said.
	plural     string
	namespaced bool
}

// customKinds reads the definitions of custom resources. A kind without one has its objects in namespaces if one of them
// names its namespace.
func customKinds(input *Input) map[schema.GroupKind]customKind {
	kinds := make(map[schema.GroupKind]customKind)
	note := func(o object) {
		if gk := kindOf(o).GroupKind(); o.GetNamespace() != "" {
			kinds[gk] = customKind{namespaced: true}
		}
	}
	for _, loaded := range input.objects {
		note(loaded.object)
	}
	for _, scenario := range input.scenarios {
		for _, step := range scenario.Steps {
			if step.object != nil {
				note(step.object)
			}
		}
	}
	for _, loaded := range input.objects {
		definition, untyped := loaded.object.(*unstructured.Unstructured)
		if !untyped || definition.GetKind() != "CustomResourceDefinition" {
			continue
		}
		group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
		name, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "kind")
		plural, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "plural")
		scope, _, _ := unstructured.NestedString(definition.Object, "spec", "scope")
		gk := schema.GroupKind{Group: group, Kind: name}
		kinds[gk] = customKind{plural: plural, namespaced: scope == "Namespaced" || scope == "" && kinds[gk].namespaced}
	}
	return kinds
}

// step waits until a step is due and makes it.
func (r *replay) step(scenario *timeline, index int, step *timelineStep) error {
	if err := r.waitFor(scenario, index, step); err != nil {
		return err
	}
	if step.Action == actionExpect {
		if err := r.runNow(); err != nil {
			return err
		}
		r.check(step.Expect)
		return nil
	}
	k := r.resolve(step.kind)
	if !r.meaningful(k) {
		return nil
	}
	namespace := k.namespaceOf(step.namespace)
	if step.Action != actionCreate && r.gone(k, namespace, step.name) {
		r.late++
		if r.first == "" {
			r.first = fmt.Sprintf("step %d of scenario %q, %v", index+1, scenario.Name, step)
		}
		return nil
	}
	var err error
	switch step.Action {
	case actionCreate:
		err = r.createLoaded(k, step.object)
	case actionPatch:
		err = r.patch(k, namespace, step.name, step.patch)
	case actionDelete:
		err = r.delete(k, namespace, step.name)
	}
	if err != nil {
		return &InputError{step.source.field(string(step.Action)).errorf("%v at %v: %w", step, r.Now(), plain(err))}
	}
	return nil
}

// waitFor lets time pass until a step is due.
func (r *replay) waitFor(scenario *timeline, index int, step *timelineStep) error {
	if step.At != nil {
		due := r.base.Add(*step.At)
		switch {
		case r.end != nil && due.After(*r.end):
			return r.stop()
		case !due.After(r.clock.Now()):
			return nil
		}
		return r.advanceTo(due)
	}
	var limit time.Time
	for _, later := range scenario.Steps[index:] {
		if later.At != nil {
			limit = r.base.Add(*later.At)
			break
		}
	}
	return r.settleUntil(limit)
}

// gone reports whether the cluster had an object that it has no more: a pod may have been preempted, for example.
func (r *replay) gone(k *kind, namespace, name string) bool {
	found, err := r.collection(k)
	if err != nil || !r.existed(k, namespace, name) {
		return false
	}
	r.store.mu.Lock()
	defer r.store.mu.Unlock()
	return found.objects[keyOf(namespace, name)] == nil
}

// check compares pods with what is expected of them.
func (c *Cluster) check(expected *expectation) {
	for i := range expected.Pods {
		pod := &expected.Pods[i]
		state, exists := c.Pod(pod.Namespace, pod.Name)
		wanted, found := pod.difference(state, exists)
		if found == "" {
			continue
		}
		c.failures = append(c.failures, ExpectationFailure{
			Position: expected.source.field("pods" + indexed(i)).position(),
			At:       c.Now(),
			Pod:      pod.Namespace + "/" + pod.Name,
			Wanted:   wanted,
			Found:    found,
		})
	}
}

func (r *replay) summarizeWarnings() {
	r.warnIgnored()
	if r.late > 0 {
		r.warnings = append(r.warnings, fmt.Sprintf("%d steps were about objects that were gone by then, the first was %s", r.late, r.first))
	}
}

// warnIgnored warns of objects that were left out: because no plugin asks for their kind, or asks for it too late, or in
// another version, which an API server would convert them to.
func (r *replay) warnIgnored() {
	var unread, late, converted []string
	byName := func(a, b schema.GroupVersionKind) int {
		return cmp.Or(strings.Compare(a.GroupVersion().String(), b.GroupVersion().String()), strings.Compare(a.Kind, b.Kind))
	}
	for _, gvk := range slices.SortedFunc(maps.Keys(r.ignored), byName) {
		k := r.resolve(r.store.kinds.find(gvk))
		count := fmt.Sprintf("%d of %s %s", r.ignored[gvk], gvk.GroupVersion(), gvk.Kind)
		switch versions := r.otherVersions(k); {
		case r.watched(k.resource):
			late = append(late, count)
		case len(versions) > 0:
			converted = append(converted, fmt.Sprintf("%s (read as %s)", count, strings.Join(versions, ", ")))
		default:
			unread = append(unread, count)
		}
	}
	for _, warning := range []struct {
		text   string
		counts []string
	}{
		{"ignored objects of kinds that no plugin asks for: ", unread},
		{"left out objects of kinds that a plugin asked for only after they had been created; ask for informers in the factory of the plugin: ", late},
		{"left out objects of kinds that plugins read in another version, as simulations don't convert them: ", converted},
	} {
		if len(warning.counts) > 0 {
			r.warnings = append(r.warnings, warning.text+strings.Join(warning.counts, ", "))
		}
	}
}

// plain takes the wrapping that is only useful to clients off an error of the API.
func plain(err error) error {
	var status *apierrors.StatusError
	if !errors.As(err, &status) {
		return err
	}
	message := status.ErrStatus.Message
	switch status.ErrStatus.Reason {
	case metav1.StatusReasonNotFound:
		message = "there is no such object"
	case metav1.StatusReasonAlreadyExists:
		message = "it exists already"
	case metav1.StatusReasonForbidden:
		_, message, _ = strings.Cut(message, " is forbidden: ")
	}
	return errors.New(message)
}
