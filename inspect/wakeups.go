// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"cmp"
	"slices"

	"github.com/rouse-scheduler/rouse/simulate"
)

// Wakeups counts the pods that a plugin had rejected and an event woke, with the results of their next attempts.
type Wakeups struct {
	Event  string `json:"event"`
	Plugin string `json:"plugin"`
	// Woken is how many pods were woken: Bound of them got a node at the next attempt, Wasted were rejected again. The
	// rest was not tried before the end, or was deleted.
	Woken  int `json:"woken"`
	Bound  int `json:"bound"`
	Wasted int `json:"wasted"`
	// Skipped is how many pods the plugin's hint skipped; equal decisions about a pod count once.
	Skipped int `json:"skipped"`
}

// CountWakeups counts the wake-ups of a trace by event and plugin, the most frequent first.
func CountWakeups(trace []simulate.TraceEntry) []Wakeups {
	type cause struct{ event, plugin string }
	counts := map[cause]*Wakeups{}
	count := func(entry simulate.TraceEntry) *Wakeups {
		key := cause{entry.Event, entry.Plugin}
		if counts[key] == nil {
			counts[key] = &Wakeups{Event: entry.Event, Plugin: entry.Plugin}
		}
		return counts[key]
	}
	awake := map[string]*Wakeups{} // by pod: what woke it
	for _, entry := range trace {
		switch entry.What {
		case simulate.WhatWoken:
			awake[entry.Pod] = count(entry)
			awake[entry.Pod].Woken++
		case simulate.WhatSkipped:
			count(entry).Skipped++
		case simulate.WhatBound:
			if by := awake[entry.Pod]; by != nil {
				by.Bound++
			}
			delete(awake, entry.Pod)
		case simulate.WhatRejected:
			if by := awake[entry.Pod]; by != nil {
				by.Wasted++
			}
			delete(awake, entry.Pod)
		case simulate.WhatPreempted, simulate.WhatDeleted:
			delete(awake, entry.Pod)
		}
	}
	all := make([]Wakeups, 0, len(counts))
	for _, wakeups := range counts {
		all = append(all, *wakeups)
	}
	slices.SortFunc(all, func(a, b Wakeups) int {
		return cmp.Or(cmp.Compare(b.Woken, a.Woken), cmp.Compare(b.Skipped, a.Skipped),
			cmp.Compare(a.Event, b.Event), cmp.Compare(a.Plugin, b.Plugin))
	})
	return all
}
