// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"slices"
	"time"

	"github.com/rouse-scheduler/rouse/simulate"
)

// timeline is what became of one pod over time.
type timeline struct {
	pod     string // namespace/name
	spans   []span
	wakeups []simulate.TraceEntry

	order int  // of appearance
	open  bool // the last span has no end yet
}

// span is a time that a pod spent in one pool.
type span struct {
	pool     simulate.Pool
	from, to simulate.Time
	// why is the entry that put the pod there.
	why simulate.TraceEntry
}

// timelines reads a trace, in the order in which pods appear in it.
func timelines(trace []simulate.TraceEntry, end simulate.Time) []*timeline {
	byPod := map[string]*timeline{}
	var all []*timeline
	for _, entry := range trace {
		line := byPod[entry.Pod]
		if line == nil {
			line = &timeline{pod: entry.Pod, order: len(all)}
			byPod[entry.Pod] = line
			all = append(all, line)
		}
		line.add(entry)
	}
	for _, line := range all {
		line.close(end)
	}
	return all
}

func (t *timeline) add(entry simulate.TraceEntry) {
	switch entry.What {
	case simulate.WhatAttempt:
		t.enter(simulate.PoolActive, entry)
	case simulate.WhatRejected:
		t.enter(t.poolAfterRejection(entry), entry)
	case simulate.WhatWoken:
		t.wakeups = append(t.wakeups, entry)
		t.enter(entry.Queue, entry)
	case simulate.WhatBound:
		t.enter(simulate.PoolBound, entry)
	case simulate.WhatPreempted, simulate.WhatDeleted:
		t.close(entry.At)
	}
}

// poolAfterRejection tells pods that failed an attempt from those that were stopped before one.
func (t *timeline) poolAfterRejection(entry simulate.TraceEntry) simulate.Pool {
	tried := t.open && t.spans[len(t.spans)-1].pool == simulate.PoolActive
	switch {
	case entry.Queue != "":
		return entry.Queue
	case tried:
		return simulate.PoolUnschedulable
	default:
		return simulate.PoolGated
	}
}

func (t *timeline) enter(pool simulate.Pool, why simulate.TraceEntry) {
	t.close(why.At)
	t.spans = append(t.spans, span{pool: pool, from: why.At, why: why})
	t.open = true
}

// close ends the last span, and forgets it if no time passed.
func (t *timeline) close(at simulate.Time) {
	if !t.open {
		return
	}
	t.open = false
	last := &t.spans[len(t.spans)-1]
	if last.to = at; last.to <= last.from && last.pool != simulate.PoolBound {
		t.spans = t.spans[:len(t.spans)-1]
	}
}

// waited is how long the pod was neither bound nor gone.
func (t *timeline) waited() time.Duration {
	var waited simulate.Time
	for _, span := range t.spans {
		if span.pool != simulate.PoolBound {
			waited += span.to - span.from
		}
	}
	return time.Duration(waited)
}

// longestWaiting returns at most limit of the timelines, those of the pods that waited longest, in their old order.
func longestWaiting(lines []*timeline, limit int) []*timeline {
	if len(lines) <= limit {
		return lines
	}
	chosen := slices.Clone(lines)
	slices.SortStableFunc(chosen, func(a, b *timeline) int { return cmp.Compare(b.waited(), a.waited()) })
	chosen = chosen[:limit]
	slices.SortFunc(chosen, func(a, b *timeline) int { return cmp.Compare(a.order, b.order) })
	return chosen
}
