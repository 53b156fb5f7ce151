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

	"github.com/rouse-scheduler/rouse/internal/apihttp"
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
var errEnd = errors.New("the replay has ended")

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
	r := &replay{Cluster: c, end: end, created: make(map[schema.GroupVersionKind]int)}
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
	// created counts the objects of each kind that has no part in scheduling unless a plugin asks for it.
	created map[schema.GroupVersionKind]int
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
	r.store.mu.Lock()
	r.store.learnKinds(input.custom())
	r.store.mu.Unlock()
	for i, loaded := range input.objects {
		if input.once {
			input.objects[i] = nil
		}
		to := r.collection(r.store.kinds.find(kindOf(loaded.object)))
		if err := r.createLoaded(to, loaded.object); err != nil {
			err = loaded.source.errorf("creating %s: %w", to.describe(loaded.object.GetNamespace(), loaded.object.GetName()), plain(err))
			if r.read(to) {
				return &InputError{err}
			}
			r.warnings = append(r.warnings, fmt.Sprintf("%v; nothing reads objects of this kind, so that it is left out", err))
		}
	}
	return nil
}

// createLoaded creates an object that was read. Objects of kinds that have a Go type but no part in scheduling were
// read without it.
func (r *replay) createLoaded(to *collection, loaded object) error {
	if !to.scheduling && to.Kind != apihttp.DefinitionKind {
		r.created[to.GroupVersionKind]++
		if loaded.GetName() == "" && loaded.GetGenerateName() == "" && !r.read(to) {
			return nil // no object of a cluster, but a configuration or the like
		}
	}
	other, untyped := loaded.(*unstructured.Unstructured)
	if !untyped || to.custom() {
		created := ownCopy(loaded)
		created.SetNamespace(to.namespaceOf(created.GetNamespace()))
		_, err := r.create(to, created)
		return err
	}
	typed := to.newObject()
	data, err := other.MarshalJSON()
	if err == nil {
		err = utiljson.Unmarshal(data, typed)
	}
	if err == nil {
		_, err = r.create(to, typed)
	}
	return err
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
	of := r.collection(step.kind)
	namespace := of.namespaceOf(step.namespace)
	if step.Action != actionCreate && r.gone(of, namespace, step.name) {
		r.late++
		if r.first == "" {
			r.first = fmt.Sprintf("step %d of scenario %q, %v", index+1, scenario.Name, step)
		}
		return nil
	}
	var err error
	switch step.Action {
	case actionCreate:
		err = r.createLoaded(of, step.object)
	case actionPatch:
		err = r.patch(of, namespace, step.name, step.patch)
	case actionDelete:
		err = r.delete(of, namespace, step.name)
	}
	if err == nil {
		return nil
	}
	err = step.source.field(string(step.Action)).errorf("%v at %v: %w", step, r.Now(), plain(err))
	if r.read(of) {
		return &InputError{err}
	}
	r.warnings = append(r.warnings, fmt.Sprintf("%v; nothing reads objects of this kind, so that the step is left out", err))
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
func (r *replay) gone(from *collection, namespace, name string) bool {
	r.store.mu.Lock()
	defer r.store.mu.Unlock()
	key := keyOf(namespace, name)
	return from.known[key] && from.objects[key] == nil
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

// warnIgnored warns of objects that made no difference: because no plugin asks for their kind, or asks for it in another
// version, which an API server would convert them to.
func (r *replay) warnIgnored() {
	var unread, converted []string
	byName := func(a, b schema.GroupVersionKind) int {
		return cmp.Or(strings.Compare(a.GroupVersion().String(), b.GroupVersion().String()), strings.Compare(a.Kind, b.Kind))
	}
	for _, gvk := range slices.SortedFunc(maps.Keys(r.created), byName) {
		of := r.collection(r.store.kinds.find(gvk))
		count := fmt.Sprintf("%d of %s %s", r.created[gvk], gvk.GroupVersion(), gvk.Kind)
		switch versions := r.otherVersions(of.kind); {
		case r.read(of):
		case len(versions) > 0:
			converted = append(converted, fmt.Sprintf("%s (read as %s)", count, strings.Join(versions, ", ")))
		default:
			unread = append(unread, count)
		}
	}
	if len(unread) > 0 {
		r.warnings = append(r.warnings, "ignored objects of kinds that no plugin asks for: "+strings.Join(unread, ", "))
	}
	if len(converted) > 0 {
		r.warnings = append(r.warnings,
			"left out objects of kinds that plugins read in another version, as simulations don't convert them: "+strings.Join(converted, ", "))
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
