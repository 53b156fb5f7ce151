// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
	"regexp"
	"strings"
)

// work is a row that is to be measured.
type work struct {
	Row
	// quick rows are measured without -full and -rows too.
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

// quick reports whether only quick rows are measured.
func (s *selection) quick() bool { return !s.full && s.rows == nil }

func (s *selection) wants(w *work) bool {
	if s.rows != nil {
		return s.rows.MatchString(w.name())
	}
	return s.full || w.quick
}

// takesPart reports whether a contender does work. Looking at all nodes takes kube-scheduler so long that it is no quick work.
func (s *selection) takesPart(who Contender, w *work) bool {
	if w.runs[who] == nil || s.quick() && who == KubeSchedulerAllNodes {
		return false
	}
	return len(s.contenders) == 0 || s.contenders[who]
}

// contendersInOrder is the order in which they take turns.
func contendersInOrder() []Contender { return []Contender{KubeScheduler, KubeSchedulerAllNodes, Rouse} }

// meterFor returns a meter, which also profiles if that is asked for.
func (s *selection) meterFor(w *work, who Contender, run int) *meter {
	if s.profiles == "" || run > 0 {
		return &meter{stretch: s.stretch}
	}
	name := strings.NewReplacer("/", "-", ", ", "-", " ", "-").Replace(w.name()) + "-" + string(who)
	return &meter{stretch: s.stretch, profile: func() func() { return profileInto(s.profiles, name, s.progress) }}
}
