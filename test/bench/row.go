// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// work is a row that is to be measured.
type work struct {
	Row
	// quick rows are measured without -full too.
	quick bool
	// runs says how each contender does the work once.
	runs map[Contender]func(context.Context, *meter) (Sample, error)
}

// group is work that shares what it is done on.
type group struct {
	work []work
	// close frees what is shared; nil if there is nothing.
	close func()
}

// selection says which rows are measured, and how.
type selection struct {
	full bool
	rows *regexp.Regexp
	// contenders is who takes part; empty means all.
	contenders map[Contender]bool
	runs       int
	// stretch makes each run so many times longer.
	stretch  int
	progress io.Writer
	// profiles is a directory for profiles of the measured part of the first run; empty for none.
	profiles string
}

func (s *selection) wants(w *work) bool {
	return (s.full || w.quick) && (s.rows == nil || s.rows.MatchString(w.name()))
}

// contendersInOrder is the order in which they take turns.
func contendersInOrder() []Contender { return []Contender{KubeScheduler, KubeSchedulerAllNodes, Rouse} }

// measure does the selected work of the groups and returns the rows.
func (s *selection) measure(ctx context.Context, groups []group) ([]Row, error) {
	var rows []Row
	for _, g := range groups {
		measured, err := s.measureGroup(ctx, g)
		rows = append(rows, measured...)
		if err != nil {
			return rows, err
		}
	}
	return rows, nil
}

func (s *selection) measureGroup(ctx context.Context, g group) ([]Row, error) {
	if g.close != nil {
		defer g.close()
	}
	var rows []Row
	for i := range g.work {
		w := &g.work[i]
		if !s.wants(w) {
			continue
		}
		w.Results = map[Contender]*Result{}
		for run := range s.runs {
			for _, who := range contendersInOrder() {
				once, ok := w.runs[who]
				if !ok || len(s.contenders) > 0 && !s.contenders[who] {
					continue
				}
				if err := ctx.Err(); err != nil {
					return rows, err
				}
				fmt.Fprintf(s.progress, "%s: run %d of %d, %s\n", w.name(), run+1, s.runs, who)
				sample, err := once(ctx, s.meterFor(w, who, run))
				if err != nil {
					return rows, fmt.Errorf("%s: run %d of %s: %w", w.name(), run+1, who, err)
				}
				w.add(who, sample)
			}
		}
		if len(w.Results) > 0 {
			w.summarise()
			rows = append(rows, w.Row)
		}
	}
	return rows, nil
}

// meterFor returns a meter, which also profiles if that is asked for.
func (s *selection) meterFor(w *work, who Contender, run int) *meter {
	if s.profiles == "" || run > 0 {
		return &meter{stretch: s.stretch}
	}
	name := strings.NewReplacer("/", "-", ", ", "-", " ", "-").Replace(w.name()) + "-" + string(who)
	return &meter{stretch: s.stretch, profile: func() func() { return profileInto(s.profiles, name, s.progress) }}
}
