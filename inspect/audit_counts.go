// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"cmp"
	"maps"
	"slices"

	"github.com/rouse-scheduler/rouse/simulate"
)

// decisionCounts counts decisions by event and plugin, and has the missed wake-ups.
type decisionCounts struct {
	rows   map[rowKey]*Decisions
	missed []MissedWakeup
}

type rowKey struct{ event, plugin string }

func newDecisionCounts() decisionCounts { return decisionCounts{rows: map[rowKey]*Decisions{}} }

// row returns the counts of an event and plugin.
func (l *decisionCounts) row(key rowKey) *Decisions {
	if l.rows[key] == nil {
		l.rows[key] = &Decisions{Event: key.event, Plugin: key.plugin}
	}
	return l.rows[key]
}

// addMissed adds a missed wake-up and returns its index. It returns -1 if the pod missed one in the same way before, since
// its last attempt: earlier has the indexes of those.
func (l *decisionCounts) addMissed(missed MissedWakeup, earlier []int) int {
	for _, index := range earlier {
		if l.missed[index].Event == missed.Event && sameMissedBy(l.missed[index].MissedBy, missed.MissedBy) {
			return -1
		}
	}
	l.missed = append(l.missed, missed)
	for _, by := range missed.MissedBy {
		row := l.row(rowKey{by.Event, by.Plugin})
		row.MissedWakeups++
		if by.Reason == MissReasonSkipped {
			row.RightSkips-- // it was not
		}
	}
	return len(l.missed) - 1
}

func sameMissedBy(a, b []MissedBy) bool {
	return slices.EqualFunc(a, b, func(a, b MissedBy) bool {
		return a.Plugin == b.Plugin && a.Event == b.Event && a.Reason == b.Reason
	})
}

// setWokenBy completes missed wake-ups of a pod that stops waiting.
func (l *decisionCounts) setWokenBy(indexes []int, at simulate.Time, event string) {
	for _, index := range indexes {
		l.missed[index].Until, l.missed[index].WokenBy = at.String(), event
	}
}

// Audit returns what the auditor found so far.
func (a *Auditor) Audit() *Audit {
	report := a.cluster.Report()
	audit := &Audit{
		Profiles:  report.Profiles,
		Decisions: []Decisions{},
		Missed:    slices.Clone(a.counts.missed),
		Summary: AuditSummary{
			Nodes: report.Summary.Nodes, Pods: report.Summary.Pods, VirtualSeconds: report.Summary.VirtualSeconds,
			MissedWakeups: len(a.counts.missed),
		},
	}
	if audit.Missed == nil {
		audit.Missed = []MissedWakeup{}
	}
	audit.Failures = a.failures.sorted()
	for _, failure := range audit.Failures {
		audit.Summary.Failed += failure.Times
		if failure.Event != "" {
			a.counts.row(rowKey{failure.Event, failure.Plugin}).Failed = failure.Times
		}
	}
	for _, row := range a.counts.rows {
		audit.Decisions = append(audit.Decisions, *row)
		audit.Summary.RightWakeups += row.RightWakeups
		audit.Summary.WastedWakeups += row.WastedWakeups
		audit.Summary.RightSkips += row.RightSkips
	}
	rank := eventRanks()
	slices.SortFunc(audit.Decisions, func(a, b Decisions) int {
		return cmp.Or(cmp.Compare(rank(a.Event), rank(b.Event)), cmp.Compare(a.Event, b.Event), cmp.Compare(a.Plugin, b.Plugin))
	})
	audit.Warnings = slices.Sorted(maps.Keys(a.evaluator.warnings))
	if a.unevaluated > 0 {
		audit.Warnings = append(audit.Warnings, "not judged, because something later than Filter rejected them: "+podCount(a.unevaluated))
	}
	if a.err != nil {
		audit.Warnings, audit.Incomplete = append(audit.Warnings, a.err.Error()), true
	}
	return audit
}

// eventRanks returns the place of events in the table of events; custom ones come last.
func eventRanks() func(label string) int {
	ranks := map[string]int{}
	for i, label := range EventLabels() {
		ranks[label] = i + 1
	}
	return func(label string) int { return cmp.Or(ranks[label], len(ranks)+1) }
}
