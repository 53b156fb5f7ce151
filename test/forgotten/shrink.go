// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package forgotten

import (
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/rouse-scheduler/rouse/internal/randomcluster"
)

// fewer leaves out steps for as long as the rest still shows the same.
func fewer(steps []randomcluster.Step, shows func([]randomcluster.Step) bool) []randomcluster.Step {
	for size := len(steps) / 2; size > 0; size /= 2 {
		for i := len(steps) - size; i >= 0; i -= size {
			if rest := slices.Delete(slices.Clone(steps), i, i+size); shows(rest) {
				steps = rest
				i = min(i, len(steps))
			}
		}
	}
	return steps
}

// simpler leaves out steps, and parts of their objects, for as long as the rest still shows the same.
func simpler(steps []randomcluster.Step, shows func([]randomcluster.Step) bool) []randomcluster.Step {
	for simpler := true; simpler; {
		simpler = false
		for candidate := range simplerSteps(steps) {
			if shows(candidate) {
				steps, simpler = candidate, true
				break
			}
		}
	}
	if even := evenly(steps); shows(even) {
		return even
	}
	return steps
}

// simplerSteps yields the steps without one of them, or without one part of an object.
func simplerSteps(steps []randomcluster.Step) iter.Seq[[]randomcluster.Step] {
	return func(yield func([]randomcluster.Step) bool) {
		for i := range slices.Backward(steps) {
			if !yield(slices.Delete(slices.Clone(steps), i, i+1)) {
				return
			}
		}
		for i, step := range steps {
			for object := range simplerObjects(step.Object) {
				changed := slices.Clone(steps)
				changed[i].Object = object
				if !yield(changed) {
					return
				}
			}
		}
	}
}

// simplerObjects yields an object without one of its fields or elements. It keeps its kind and its name.
func simplerObjects(object map[string]any) iter.Seq[map[string]any] {
	return func(yield func(map[string]any) bool) {
		for _, key := range slices.Sorted(maps.Keys(object)) {
			switch key {
			case "apiVersion", "kind", "name", "namespace":
				continue
			}
			without := maps.Clone(object)
			delete(without, key)
			if key != "metadata" && !yield(without) {
				return
			}
			for value := range simplerValues(object[key]) {
				changed := maps.Clone(object)
				changed[key] = value
				if !yield(changed) {
					return
				}
			}
		}
	}
}

func simplerValues(value any) iter.Seq[any] {
	return func(yield func(any) bool) {
		switch value := value.(type) {
		case map[string]any:
			for object := range simplerObjects(value) {
				if !yield(object) {
					return
				}
			}
		case []any:
			for i := range value {
				if !yield(slices.Delete(slices.Clone(value), i, i+1)) {
					return
				}
				for element := range simplerValues(value[i]) {
					changed := slices.Clone(value)
					changed[i] = element
					if !yield(changed) {
						return
					}
				}
			}
		}
	}
}

// evenly has the steps happen ten seconds apart, those that happen together excepted.
func evenly(steps []randomcluster.Step) []randomcluster.Step {
	even := slices.Clone(steps)
	var at time.Duration
	for i := range even {
		if i > 0 && steps[i].At != steps[i-1].At {
			at += 10 * time.Second
		}
		even[i].At = at
	}
	return even
}
