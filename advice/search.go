// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package advice

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/rouse-scheduler/rouse/inspect"
	"github.com/rouse-scheduler/rouse/whatif"
)

// search tries changes on forks.
type search struct {
	*view
	ctx   context.Context
	forks int // how many may still be made
	tried map[string]bool
	found []solution
}

// solution is changes with which a node takes the pod.
type solution struct {
	node    string
	changes []*change
}

// size is what solutions are compared by.
func (s *solution) size() int { return len(s.changes) }

// rank is that of the most expensive change.
func (s *solution) rank() int {
	most := 0
	for _, c := range s.changes {
		most = max(most, c.rank)
	}
	return most
}

func (s *solution) suggestion() inspect.Suggestion {
	made := inspect.Suggestion{Node: s.node}
	for _, c := range s.changes {
		made.Changes = append(made.Changes, c.Change)
	}
	return made
}

// fits reports whether a node takes the pod after some changes, and which; the preferred one, if it is one of several.
func (s *search) fits(changes []*change, preferred ...string) (node string, fits bool, err error) {
	s.forks--
	fork := s.cluster.Fork()
	for _, c := range changes {
		if err := c.apply(fork); err != nil {
			return "", false, nil // such as two changes that add the same object
		}
	}
	return s.takes(fork, preferred...)
}

func (s *search) takes(fork *whatif.Cluster, preferred ...string) (node string, fits bool, err error) {
	pod, ok := fork.Get(s.pod).(*v1.Pod)
	if !ok {
		return "", false, errGone
	}
	fit, err := fork.Fits(s.ctx, pod)
	if err != nil || len(fit.Nodes) == 0 {
		return "", false, err
	}
	for _, name := range preferred {
		if slices.Contains(fit.Nodes, name) {
			return name, true, nil
		}
	}
	return fit.Nodes[0], true, nil
}

// run looks for solutions on the closest nodes, and if there are none for another node like one of them.
func (s *search) run(blockers *inspect.Blockers, nodes int) error {
	everywhere := s.everywhere(blockers.Everywhere)
	closest := blockers.Nodes[:min(len(blockers.Nodes), nodes)]
	for i := range closest {
		if err := s.onNode(everywhere, &closest[i]); err != nil {
			return err
		}
	}
	for i := 0; i < len(closest) && s.wantsNode(); i++ {
		changes := []*change{s.newNode(s.byName[closest[i].Name], closest[i].Blockers)}
		for _, group := range everywhere {
			if len(group) > 0 {
				changes = append(changes, group[0]...)
			}
		}
		if err := s.reduce(changes); err != nil {
			return err
		}
	}
	for i := range s.found {
		if err := s.addExamples(&s.found[i]); err != nil {
			return err
		}
	}
	return nil
}

// wantsNode reports whether another node is to be suggested: if nothing was found that can be done with the nodes and the pod
// that there are.
func (s *search) wantsNode() bool {
	return !slices.ContainsFunc(s.found, func(made solution) bool { return made.rank() < rankOfRequest || made.rank() == rankOfNewNode })
}

// onNode looks for solutions on one node.
func (s *search) onNode(everywhere [][]fix, blocked *inspect.NodeBlockers) error {
	node := s.byName[blocked.Name]
	groups := slices.Clone(everywhere)
	for i := range blocked.Blockers {
		fixes := s.fixesFor(node, &blocked.Blockers[i])
		if len(fixes) > 0 {
			groups = append(groups, fixes)
		}
	}
	if len(groups) == 0 {
		return nil
	}
	for _, changes := range combinations(groups) {
		if err := s.reduce(changes, node.Name); err != nil || s.forks <= 0 {
			return err
		}
	}
	return s.smaller(pool(groups), node.Name)
}

// maxCombinations is how many combinations of alternatives are tried on a node.
const maxCombinations = 24

// combinations returns one alternative of each group in all combinations, first those that differ the least from the first.
func combinations(groups [][]fix) [][]*change {
	all := [][]*change{nil}
	for _, group := range groups {
		var longer [][]*change
		for _, before := range all {
			for _, fix := range group {
				if len(longer) < maxCombinations {
					longer = append(longer, union(before, fix))
				}
			}
		}
		if len(group) > 0 {
			all = longer
		}
	}
	return all
}

// union returns the changes of both, each once.
func union(a, b []*change) []*change {
	all := slices.Clone(a)
	for _, c := range b {
		if !slices.ContainsFunc(all, func(known *change) bool { return known.id() == c.id() }) {
			all = append(all, c)
		}
	}
	return all
}

func pool(groups [][]fix) []*change {
	var all []*change
	for _, group := range groups {
		for _, fix := range group {
			all = union(all, fix)
		}
	}
	return all
}

// reduce drops the changes that are not needed, the most expensive first, if all together let a node take the pod.
func (s *search) reduce(changes []*change, preferred ...string) error {
	if !s.first(changes) {
		return nil
	}
	node, fits, err := s.fits(changes, preferred...)
	if err != nil || !fits {
		return err
	}
	kept := slices.Clone(changes)
	if len(kept) > 1 {
		order := slices.Clone(kept)
		slices.SortStableFunc(order, func(a, b *change) int { return cmp.Compare(b.rank, a.rank) })
		// Pods are given least important first; those at the end are to stay.
		slices.Reverse(order)
		slices.SortStableFunc(order, func(a, b *change) int { return cmp.Compare(b.rank, a.rank) })
		for _, dropped := range order {
			rest := slices.DeleteFunc(slices.Clone(kept), func(c *change) bool { return c == dropped })
			without, fits, err := s.fits(rest, preferred...)
			if err != nil {
				return err
			}
			if fits {
				kept, node = rest, without
			}
		}
	}
	return s.add(solution{node, kept}, preferred...)
}

// first reports whether a combination is tried for the first time.
func (s *search) first(changes []*change) bool {
	ids := make([]string, len(changes))
	for i, c := range changes {
		ids[i] = c.id()
	}
	slices.Sort(ids)
	key := strings.Join(ids, "\n")
	if s.tried[key] {
		return false
	}
	s.tried[key] = true
	return true
}

// add keeps a solution, with amounts that are as small as they can be.
func (s *search) add(made solution, preferred ...string) error {
	for i := range made.changes {
		for _, name := range slices.Sorted(maps.Keys(made.changes[i].needed)) {
			if err := s.shrink(&made, i, name, preferred...); err != nil {
				return err
			}
		}
	}
	for _, known := range s.found {
		if known.size() == made.size() && len(union(known.changes, made.changes)) == made.size() {
			return nil
		}
	}
	s.found = append(s.found, made)
	return nil
}

// shrink makes an amount as small as it can be. Mostly it is, as it was counted.
func (s *search) shrink(made *solution, i int, name v1.ResourceName, preferred ...string) error {
	enough := made.changes[i].needed[name]
	for try, tooLittle := enough-1, int64(-1); tooLittle < try; try = tooLittle + (enough-tooLittle)/2 {
		smaller := made.changes[i].resized(made.changes[i].needed.with(name, try))
		changes := slices.Clone(made.changes)
		changes[i] = smaller
		node, fits, err := s.fits(changes, preferred...)
		switch {
		case err != nil:
			return err
		case fits:
			enough = try
			made.node, made.changes = node, changes
		case try == enough-1:
			return nil
		default:
			tooLittle = try
		}
	}
	return nil
}

// smallest returns how many changes the smallest solution has; zero if there is none.
func (s *search) smallest() int {
	least := 0
	for i := range s.found {
		if n := s.found[i].size(); least == 0 || n < least {
			least = n
		}
	}
	return least
}

// smaller tries all combinations of fewer changes than the smallest solution has.
func (s *search) smaller(pool []*change, node string) error {
	limit := s.smallest()
	if limit == 0 {
		limit = 3
	}
	for size := 1; size < limit; size++ {
		found := len(s.found)
		if err := s.choose(nil, pool, size, node); err != nil {
			return err
		}
		if len(s.found) > found || s.forks <= 0 {
			break
		}
	}
	return nil
}

// choose tries the given changes together with so many of the pool.
func (s *search) choose(chosen, pool []*change, size int, node string) error {
	if size == 0 {
		if s.forks <= 0 || !s.first(chosen) {
			return nil
		}
		takes, fits, err := s.fits(chosen, node)
		if fits {
			err = s.add(solution{takes, slices.Clone(chosen)}, node)
		}
		return err
	}
	for i := 0; i+size <= len(pool); i++ {
		if err := s.choose(append(slices.Clone(chosen), pool[i]), pool[i+1:], size-1, node); err != nil {
			return err
		}
	}
	return nil
}

// best returns the solutions with the fewest changes, the cheapest first.
func (s *search) best() []solution {
	least := s.smallest()
	best := slices.DeleteFunc(s.found, func(made solution) bool { return made.size() > least })
	slices.SortStableFunc(best, func(a, b solution) int { return cmp.Compare(a.rank(), b.rank()) })
	return best
}

// addExamples names pods whose end frees what is to be freed, if that lets a node take the pod as well.
func (s *search) addExamples(of *solution) error {
	for i, c := range of.changes {
		if c.Action != inspect.ChangeFree {
			continue
		}
		pods := s.podsToFree(c.Name, c.needed)
		if len(pods) == 0 {
			continue
		}
		instead := slices.Delete(slices.Clone(of.changes), i, i+1)
		names := make([]string, len(pods))
		for j, pod := range pods {
			instead = append(instead, s.end(pod))
			names[j] = pod.Namespace + "/" + pod.Name
		}
		_, fits, err := s.fits(instead)
		if err != nil {
			return err
		}
		ending := !slices.ContainsFunc(pods, func(pod *v1.Pod) bool { return pod.DeletionTimestamp == nil })
		switch {
		case fits && ending: // then this is all that has to happen
			of.changes = instead
			return nil
		case fits:
			with := *c
			with.Pods = names
			of.changes[i] = &with
		}
	}
	return nil
}
