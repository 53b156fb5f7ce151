// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// measurement is a report in the making.
type measurement struct {
	*selection
	report *Report
	// save is called after every row.
	save func() error

	started time.Time
	// position is where each row of all has its place, selected is how many are to be measured, and begun how many of these
	// have been.
	position        map[string]int
	selected, begun int
}

// measure does the selected work that the report does not have yet. When a row fails, the others are measured all the same.
func (s *selection) measure(ctx context.Context, groups []group, report *Report, save func() error) error {
	m := &measurement{selection: s, report: report, save: save, started: time.Now(), position: map[string]int{}}
	for _, g := range groups {
		for i := range g.work {
			m.position[g.work[i].name()] = len(m.position)
			if m.lacks(&g.work[i]) {
				m.selected++
			}
		}
	}
	var failures []error
	for _, g := range groups {
		failures = append(failures, m.measureGroup(ctx, g))
	}
	return errors.Join(append(failures, ctx.Err())...)
}

// lacks reports whether work is selected and has not been done.
func (m *measurement) lacks(w *work) bool {
	return m.wants(w) && !slices.ContainsFunc(m.report.Rows, func(r Row) bool { return r.name() == w.name() })
}

func (m *measurement) measureGroup(ctx context.Context, g group) error {
	if g.close != nil {
		defer g.close()
	}
	var failures []error
	for i := range g.work {
		w := &g.work[i]
		if ctx.Err() != nil || !m.lacks(w) {
			continue
		}
		m.begun++
		if err := m.measureRow(ctx, w); err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", w.name(), err))
			fmt.Fprintln(m.progress, failures[len(failures)-1])
			continue
		}
		if len(w.Results) == 0 {
			continue // of the contenders that take part, none does this work
		}
		w.summarise()
		m.report.Rows = append(m.report.Rows, w.Row)
		slices.SortStableFunc(m.report.Rows, func(a, b Row) int { return cmp.Compare(m.position[a.name()], m.position[b.name()]) })
		failures = append(failures, m.save())
	}
	return errors.Join(failures...)
}

// measureRow has the contenders take turns.
func (m *measurement) measureRow(ctx context.Context, w *work) error {
	w.Results = map[Contender]*Result{}
	for run := range m.runs {
		for _, who := range contendersInOrder() {
			if !m.takesPart(who, w) {
				continue
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			fmt.Fprintf(m.progress, "%6s  row %d of %d, %s: run %d of %d, %s\n",
				time.Since(m.started).Round(time.Second), m.begun, m.selected, w.name(), run+1, m.runs, who)
			sample, err := w.runs[who](ctx, m.meterFor(w, who, run))
			if err != nil {
				return fmt.Errorf("run %d of %s: %w", run+1, who, err)
			}
			w.add(who, sample)
		}
	}
	return nil
}
