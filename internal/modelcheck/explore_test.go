// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package modelcheck

import (
	"fmt"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"
)

// found is what an exploration found.
type found struct {
	states, transitions, final int
	// runs is how many runs there were from states that were not expanded.
	runs int
	// complete is set if all states were explored, not only as many as were allowed.
	complete bool
	depth    int
	took     time.Duration
	// problem is the violation that takes the fewest steps, empty if there is none; trace has these steps.
	problem string
	trace   []happened
}

// exploration explores the states of an instance, breadth first.
type exploration struct {
	instance *instance
	idle     worlds
	known    map[digest]int32
	nodes    []node
	found    found
}

// node is a state. It is reached by doing step number by in the state with the number parent.
type node struct {
	parent int32
	by     uint8
	// next are the states that steps lead to which happen sooner or later.
	next []int32
	// open is set until all of its steps were explored.
	open bool
}

// expanded is what one state leads to.
type expanded struct {
	steps []successor
}

type successor struct {
	digest      digest
	by          uint8
	environment bool
	problem     string
}

// explore explores up to so many states, and stops at the first violation.
func explore(in *instance, most int) found {
	began := time.Now()
	e := &exploration{instance: in, known: map[digest]int32{}, idle: worlds{instance: in}}
	w := newWorld(in)
	e.known[w.digest()] = 0
	e.nodes = []node{{parent: -1, open: true}}
	if problems := w.violations(); len(problems) > 0 {
		e.found.problem = strings.Join(problems, "; ")
	}
	for layer := []int32{0}; len(layer) > 0 && e.found.problem == "" && len(e.nodes) < most; e.found.depth++ {
		layer = e.layer(layer)
		e.found.complete = len(layer) == 0
	}
	if e.found.problem == "" {
		e.checkFinal()
	}
	if e.found.problem == "" {
		e.settleOpen()
	}
	e.found.states, e.found.took = len(e.nodes), time.Since(began)
	return e.found
}

// chunk is how many states are expanded before the results are taken over.
const chunk = 4096

// layer expands the states of a layer and returns those of the next.
func (e *exploration) layer(layer []int32) (next []int32) {
	for part := range slices.Chunk(layer, chunk) {
		results := make([]expanded, len(part))
		var group sync.WaitGroup
		workers := runtime.GOMAXPROCS(0)
		for worker := range workers {
			group.Go(func() {
				for i := worker; i < len(part); i += workers {
					results[i] = e.expand(e.path(part[i]))
				}
			})
		}
		group.Wait()
		for i, state := range part {
			next = append(next, e.take(state, results[i])...)
			if e.found.problem != "" {
				return nil
			}
		}
	}
	return next
}

// take takes over what one state leads to, and returns the states that are new.
func (e *exploration) take(from int32, result expanded) (fresh []int32) {
	e.nodes[from].open = false
	for _, s := range result.steps {
		e.found.transitions++
		to, known := e.known[s.digest]
		if !known {
			to = int32(len(e.nodes))
			e.known[s.digest] = to
			e.nodes = append(e.nodes, node{parent: from, by: s.by, open: true})
			fresh = append(fresh, to)
		}
		if !s.environment {
			e.nodes[from].next = append(e.nodes[from].next, to)
		}
		if s.problem != "" {
			e.fail(append(e.path(from), s.by), s.problem)
			return nil
		}
	}
	return fresh
}

// fail notes a violation and the steps that lead to it.
func (e *exploration) fail(path []uint8, problem string) {
	e.found.problem = regexp.MustCompile("@[0-9]+").ReplaceAllString(problem, "") // the epochs of UIDs
	w := newWorld(e.instance)
	for _, by := range path {
		taken := w.steps()[by]
		e.found.trace = append(e.found.trace, happened{taken, strings.ReplaceAll(taken.label(), w.epochMark(), "")})
		if w.do(taken) != "" {
			return
		}
	}
	if len(w.violations())+len(w.asleep()) == 0 {
		e.found.problem += " (only with a scheduler that was used before)"
	}
}

// path returns the steps that lead to a state.
func (e *exploration) path(state int32) []uint8 {
	var path []uint8
	for ; e.nodes[state].parent >= 0; state = e.nodes[state].parent {
		path = append(path, e.nodes[state].by)
	}
	slices.Reverse(path)
	return path
}

// worlds are worlds that can be used again. It is safe for concurrent use.
type worlds struct {
	instance *instance
	mu       sync.Mutex
	idle     []*world
}

// replay returns a world that steps have led to.
func (u *worlds) replay(path []uint8) *world {
	u.mu.Lock()
	var w *world
	if last := len(u.idle) - 1; last >= 0 {
		w, u.idle = u.idle[last], u.idle[:last]
	}
	u.mu.Unlock()
	if w == nil || !w.reuse() {
		w = newWorld(u.instance)
	}
	for _, by := range path {
		if problem := w.do(w.steps()[by]); problem != "" {
			panic(problem)
		}
	}
	return w
}

// release gives a world back.
func (u *worlds) release(w *world) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.idle = append(u.idle, w)
}

// do does a step; a panic is a violation.
func (w *world) do(s step) (problem string) {
	defer func() {
		if r := recover(); r != nil {
			problem = fmt.Sprintf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	s.do()
	return ""
}

// expand does each step that is possible in a state.
func (e *exploration) expand(path []uint8) expanded {
	var result expanded
	for i, count := 0, 1; i < count; i++ {
		w := e.idle.replay(path)
		steps := w.steps()
		count = len(steps)
		if count == 0 {
			e.idle.release(w)
			break
		}
		s := successor{by: uint8(i), environment: steps[i].environment}
		if s.problem = w.do(steps[i]); s.problem == "" {
			s.problem = strings.Join(w.violations(), "; ")
			s.digest = w.digest()
			e.idle.release(w)
		}
		result.steps = append(result.steps, s)
	}
	return result
}

// checkFinal checks the states that nothing but the environment ever leaves: single ones, and those that lead to each other
// forever.
func (e *exploration) checkFinal() {
	for _, states := range e.final() {
		e.found.final++
		var asleep []string
		for i, state := range states {
			w := e.idle.replay(e.path(state))
			sleeping := w.asleep()
			e.idle.release(w)
			if i == 0 {
				asleep = sleeping
			}
			asleep = slices.DeleteFunc(asleep, func(pod string) bool { return !slices.Contains(sleeping, pod) })
		}
		if len(asleep) > 0 {
			e.fail(e.path(slices.Min(states)), strings.Join(asleep, "; "))
			return
		}
	}
}

// final returns the strongly connected components that no step leaves which happens sooner or later, those that were
// reached first before the others (Tarjan's algorithm, without recursion).
func (e *exploration) final() [][]int32 {
	const unseen = -1
	index, low := make([]int32, len(e.nodes)), make([]int32, len(e.nodes))
	for i := range index {
		index[i] = unseen
	}
	onStack, left := make([]bool, len(e.nodes)), make([]bool, len(e.nodes)) // left: a step leaves its component
	var stack []int32
	var components [][]int32
	type frame struct {
		state int32
		edge  int
	}
	count := int32(0)
	for start := range e.nodes {
		if index[start] != unseen {
			continue
		}
		frames := []frame{{state: int32(start)}}
		for len(frames) > 0 {
			f := &frames[len(frames)-1]
			s := f.state
			if f.edge == 0 && index[s] == unseen {
				index[s], low[s] = count, count
				count++
				stack, onStack[s] = append(stack, s), true
			}
			if f.edge < len(e.nodes[s].next) {
				to := e.nodes[s].next[f.edge]
				f.edge++
				switch {
				case index[to] == unseen:
					frames = append(frames, frame{state: to})
				case onStack[to]:
					low[s] = min(low[s], index[to])
				default:
					left[s] = true
				}
				continue
			}
			frames = frames[:len(frames)-1]
			if low[s] == index[s] {
				at := len(stack) - 1
				for stack[at] != s {
					at--
				}
				component := slices.Clone(stack[at:])
				stack = stack[:at]
				leaves := false
				for _, member := range component {
					onStack[member] = false
					leaves = leaves || left[member] || e.nodes[member].open
				}
				if !leaves {
					components = append(components, component)
				}
				if len(frames) > 0 {
					left[frames[len(frames)-1].state] = true
				}
			} else if len(frames) > 0 {
				parent := frames[len(frames)-1].state
				low[parent] = min(low[parent], low[s])
			}
		}
	}
	slices.SortFunc(components, func(a, b []int32) int { return int(slices.Min(a) - slices.Min(b)) })
	return components
}
