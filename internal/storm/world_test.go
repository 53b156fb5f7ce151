// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package storm

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"time"

	v1 "k8s.io/api/core/v1"
)

// rates say how often something goes wrong, of a thousand cases.
type rates struct {
	slow, failing, hanging, misbehaving, waiting, preparing, lying int
}

// settings are what a history is made of.
type settings struct {
	seed uint64
	rates
	// in strict histories no other client puts pods on nodes or makes nodes smaller, so that no node may ever be over its
	// capacity by the API server.
	strict bool
	// gracefully has pods with a node take their time when they are deleted.
	gracefully bool
	// names is how many pods there can be, machines how many nodes.
	names, machines int
	weights         []int
}

// world is everything there is.
type world struct {
	settings
	ctx       context.Context
	api       *apiServer
	clock     *virtualClock
	instances []*instance
	stepKinds []stepKind

	instanceCount, created int

	// dice is for everything that a step decides; each step has its own numbers.
	dice *rand.Rand
	pcg  *rand.PCG
	// running is the thread that runs, nil between threads; a thread hands over the baton when it pauses or ends.
	running *thread
	baton   chan struct{}
	// quiet is set while nothing goes wrong, calm while the liveness is being judged.
	quiet, calm bool

	violation *violation
	hash      uint64
	// tracing collects what happens.
	tracing bool
	trace   []string
	changes []timedChange

	attempts, bindings int
}

// violation is something that must not be.
type violation struct{ what, message string }

func (v violation) String() string { return v.what + ": " + v.message }

func startTime() time.Time { return time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC) }

func newWorld(ctx context.Context, s settings) *world {
	pcg := rand.NewPCG(s.seed, 0)
	w := &world{
		settings: s, ctx: ctx, api: newAPIServer(), clock: &virtualClock{now: startTime()},
		pcg: pcg, dice: rand.New(pcg), baton: make(chan struct{}), stepKinds: stepKinds(),
	}
	for i := range s.machines {
		w.put(w.makeNode(i))
	}
	w.instances = []*instance{w.newInstance([kinds]int{})}
	return w
}

// close ends all schedulers.
func (w *world) close() {
	for _, in := range w.instances {
		in.end()
	}
}

// often is true so many times in a thousand, but never while nothing is to go wrong.
func (w *world) often(rate int) bool {
	return rate > 0 && !w.quiet && w.dice.IntN(1000) < rate
}

func (w *world) violate(what, format string, args ...any) {
	if w.violation == nil {
		w.violation = &violation{what, fmt.Sprintf(format, args...)}
		w.note("VIOLATION %s", w.violation)
	}
}

// record counts something into the fingerprint of the history.
func (w *world) record(format string, args ...any) {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, format, args...)
	w.hash = w.hash*1099511628211 ^ h.Sum64()
}

// note adds a line to the trace.
func (w *world) note(format string, args ...any) {
	if w.tracing {
		w.trace = append(w.trace, fmt.Sprintf("%8.3fs  ", w.clock.Since(startTime()).Seconds())+fmt.Sprintf(format, args...))
	}
}

// changed is told of every change of an object.
func (w *world) changed(previous, current object) {
	named := current
	if current == nil {
		named = previous
	}
	w.record("%v %s %s %v", kindOf(named), named.GetName(), named.GetUID(), current == nil)
	if w.tracing {
		w.changes = append(w.changes, timedChange{w.clock.Since(startTime()), previous, current, w.running != nil})
		w.note("%s", describeChange(previous, current))
	}
}

// do takes one step, and returns whether anything happened.
func (w *world) do(s step) (happened bool) {
	w.pcg.Seed(s.random, uint64(s.kind))
	happened = w.stepKinds[s.kind].do(w)
	if happened && w.violation == nil {
		w.check()
	}
	return happened
}

func (w *world) check() {
	for _, in := range w.instances {
		in.check()
	}
	for k := range kinds {
		needed := w.api.end(k)
		for _, in := range w.instances {
			needed = min(needed, in.seen[k])
		}
		w.api.trim(k, needed)
	}
}

// pod returns a pod that there is, for which a condition holds; nil if there is none.
func (w *world) somePod(suits func(*v1.Pod) bool) *v1.Pod {
	start := w.dice.IntN(w.names)
	for i := range w.names {
		if pod := w.api.pod(podName((start + i) % w.names)); pod != nil && suits(pod) {
			return pod
		}
	}
	return nil
}

func (w *world) someNode() *v1.Node {
	start := w.dice.IntN(w.machines)
	for i := range w.machines {
		if node := w.api.node(nodeName((start + i) % w.machines)); node != nil {
			return node
		}
	}
	return nil
}

func (w *world) someInstance() *instance { return w.instances[w.dice.IntN(len(w.instances))] }
