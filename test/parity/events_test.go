// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"iter"
	"slices"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"
	upstream "k8s.io/kubernetes/pkg/scheduler/framework"
	"sigs.k8s.io/yaml"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/runtime"
)

func both(t round, c cluster, p profile) (their, our *side) {
	t.Helper()
	their, err := theirs(t.Context(), c, p)
	if err != nil {
		t.Fatalf("building kube-scheduler's framework: %v", err)
	}
	if our, err = ours(t.Context(), c, p); err != nil {
		t.Fatalf("building Rouse's framework: %v", err)
	}
	return their, our
}

// compareHints compares every queueing hint of a random profile on random objects: new, changed and deleted ones,
// tombstones, none at all, and objects of the wrong kind. Pods that are of one class to Rouse, which then asks once for
// all of them, must get one answer of kube-scheduler's hint as well.
func (m *machine) compareHints(t round) {
	g := newGenerator(t.seed)
	p := g.profile(m.available)
	for _, h := range hintsOf(t, g.cluster(), p) {
		for range 4 {
			m.add(h.compare(t, g, p))
		}
	}
}

// hints are those of the two projects for one event, and Rouse's classes of pods.
type hints struct {
	plugin     fwk.Plugin // kube-scheduler's
	args       apiruntime.Object
	event      fwk.ClusterEvent
	namespaces map[string]labels.Set // of the cluster, with their labels
	their, our func(hintCase) string
	class      func(*v1.Pod) (string, bool)
}

// hintsOf returns the hints of all plugins of a profile, for events that both projects register.
func hintsOf(t round, c cluster, p profile) []hints {
	t.Helper()
	their, our := both(t, c, p)
	var all []hints
	for _, chosen := range p.plugins {
		got := registrations(t, our, chosen.Name)
		for _, registered := range registrations(t, their, chosen.Name) {
			twin := slices.IndexFunc(got, func(e fwk.ClusterEventWithHint) bool { return e.Event == registered.Event })
			if registered.QueueingHintFn == nil || twin < 0 {
				continue // compareEventMaps compares those
			}
			all = append(all, hints{
				plugin: their.plugins[chosen.Name], args: p.args[chosen.Name], event: registered.Event, namespaces: c.namespaceLabels(),
				their: answerOf(registered.QueueingHintFn), our: answerOf(got[twin].QueueingHintFn),
				class: func(pod *v1.Pod) (string, bool) {
					return our.framework.(*runtime.Framework).HintClass(t.Context(), chosen.Name, pod)
				},
			})
		}
	}
	return all
}

func (h hints) compare(t round, g *generator, p profile) counts {
	t.Helper()
	c := hintCase{pod: g.waitingPod("pending")}
	c.oldObj, c.newObj = g.change(h.event)
	if c.oldObj == nil && c.newObj == nil {
		return nil // kube-scheduler's answer depends on the plugin, or it panics; no informer does that
	}
	if h.differ(c) {
		c = shrink(c, smallerHintCases, h.differ)
		t.mismatch("hint of %s for %s: kube-scheduler says %s, Rouse %s\n%s", h.plugin.Name(),
			h.event.Label(), h.their(c), h.our(c), c.text(p))
	}
	twin := c
	twin.pod = pick(g, g.almost(c.pod), g.almost(c.pod), g.waitingPod("twin"))
	class, ok := h.class(c.pod)
	twinClass, twinOK := h.class(twin.pod)
	done := counts{{"hint", h.plugin.Name()}: 1}
	if ok && twinOK && class == twinClass {
		done[kind{"class of hints", h.plugin.Name()}]++
		if h.their(c) != h.their(twin) {
			t.mismatch("hint of %s for %s: two pods of one class, but kube-scheduler says %s and %s\n%s\n%s", h.plugin.Name(),
				h.event.Label(), h.their(c), h.their(twin), c.text(p), twin.text(p))
		}
	}
	return done
}

func (h hints) differ(c hintCase) bool {
	their, our := h.their(c), h.our(c)
	return their != our && !(our == fwk.Queue.String() && h.wakesMore(c))
}

// answerOf returns what a hint says as text; an error counts as Queue, whatever it says.
func answerOf(fn fwk.QueueingHintFn) func(hintCase) string {
	return func(c hintCase) (answer string) {
		defer func() {
			if value := recover(); value != nil {
				answer = "panic"
			}
		}()
		advice, err := fn(discard, c.pod, c.oldObj, c.newObj)
		if err != nil {
			return fwk.Queue.String() // which is what the queue makes of it
		}
		return advice.String()
	}
}

// smallerHintCases yields cases with a simpler pod or simpler objects.
func smallerHintCases(c hintCase) iter.Seq[hintCase] {
	return func(yield func(hintCase) bool) {
		_ = each(simpler(c.pod), yield, func(pod *v1.Pod) hintCase { s := c; s.pod = pod; return s }) &&
			each(simplerAny(c.oldObj), yield, func(o any) hintCase { s := c; s.oldObj = o; return s }) &&
			each(simplerAny(c.newObj), yield, func(o any) hintCase { s := c; s.newObj = o; return s })
	}
}

func simplerAny(value any) iter.Seq[any] {
	return func(yield func(any) bool) {
		if object, ok := value.(apiruntime.Object); ok {
			each(simpler(object), yield, func(o apiruntime.Object) any { return o })
		}
	}
}

func (c hintCase) text(p profile) string {
	text, err := yaml.Marshal(map[string]any{"pod": c.pod, "old": c.oldObj, "new": c.newObj, "profile": profileText(p)})
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// compareObjectDiffs compares how two versions of an object become events.
func (m *machine) compareObjectDiffs(t round) {
	g := newGenerator(t.seed)
	oldNode, newNode := g.changedNode()
	if diff := cmp.Diff(upstream.NodeSchedulingPropertiesChange(newNode, oldNode), framework.NodeEvents(oldNode, newNode)); diff != "" {
		t.mismatch("events of a node (-kube-scheduler +rouse):\n%s\n%s", diff, hintCase{oldObj: oldNode, newObj: newNode}.text(profile{}))
	}
	oldPod, newPod := g.changedPod()
	target := g.oneIn(2)
	if g.oneIn(3) {
		newPod.Spec.NodeName = "node-0"
	}
	if diff := cmp.Diff(upstream.PodSchedulingPropertiesChange(newPod, oldPod, target), framework.PodEvents(oldPod, newPod, target)); diff != "" {
		t.mismatch("events of a pod (-kube-scheduler +rouse):\n%s\n%s", diff, hintCase{oldObj: oldPod, newObj: newPod}.text(profile{}))
	}
	m.add(counts{{"events of a changed node", ""}: 1, {"events of a changed pod", ""}: 1})
}
