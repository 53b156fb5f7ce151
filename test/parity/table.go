// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
)

// kind is what is compared, and of which plugin; without a plugin it is about frameworks, or schedulers, as a whole.
type kind struct{ what, plugin string }

func (k kind) String() string { return strings.TrimSpace(k.what + " " + k.plugin) }

// counts is the number of comparisons by kind.
type counts map[kind]int

// table sums up comparisons from several goroutines.
type table struct {
	mu     sync.Mutex
	counts counts
}

func (t *table) add(more counts) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts == nil {
		t.counts = counts{}
	}
	for kind, n := range more {
		t.counts[kind] += n
	}
}

func (t *table) total() int {
	total := 0
	for _, n := range t.counts {
		total += n
	}
	return total
}

// below returns the kinds with fewer comparisons than floor.
func (t *table) below(floor int) []string {
	var few []string
	for kind, n := range t.counts {
		if n < floor {
			few = append(few, fmt.Sprintf("%s (%d)", kind, n))
		}
	}
	slices.Sort(few)
	return few
}

// String returns a line for every kind without a plugin, then a row for every plugin with its kinds as columns.
func (t *table) String() string {
	var text strings.Builder
	lines := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	byPlugin, columns := map[string]counts{}, map[string]bool{}
	kinds := slices.SortedFunc(maps.Keys(t.counts), func(a, b kind) int { return cmp.Compare(a.what, b.what) })
	for _, k := range kinds {
		if k.plugin == "" {
			fmt.Fprintf(lines, "%s\t%d\n", k.what, t.counts[k])
			continue
		}
		if byPlugin[k.plugin] == nil {
			byPlugin[k.plugin] = counts{}
		}
		byPlugin[k.plugin][k], columns[k.what] = t.counts[k], true
	}
	lines.Flush()
	header := slices.Sorted(maps.Keys(columns))
	rows := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintf(rows, "\nof each plugin\t%s\n", strings.Join(header, "\t"))
	for _, plugin := range slices.Sorted(maps.Keys(byPlugin)) {
		cells := []string{plugin}
		for _, what := range header {
			n, compared := byPlugin[plugin][kind{what, plugin}]
			cell := "-"
			if compared {
				cell = strconv.Itoa(n)
			}
			cells = append(cells, cell)
		}
		fmt.Fprintln(rows, strings.Join(cells, "\t"))
	}
	rows.Flush()
	fmt.Fprintf(&text, "\n%d comparisons\n", t.total())
	return text.String()
}
