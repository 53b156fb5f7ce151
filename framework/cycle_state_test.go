// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package framework_test

import (
	"errors"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// number is state that every clone has a copy of.
type number struct{ value int }

func (n *number) Clone() fwk.StateData { return &number{n.value} }

func readNumber(t *testing.T, state fwk.CycleState, key fwk.StateKey) int {
	t.Helper()
	data, err := state.Read(key)
	if err != nil {
		t.Fatalf("Read(%s): %v", key, err)
	}
	return data.(*number).value
}

func TestCycleStateEntries(t *testing.T) {
	state := framework.NewCycleState()
	wantAbsent := func(key fwk.StateKey) {
		t.Helper()
		if data, err := state.Read(key); !errors.Is(err, fwk.ErrNotFound) || data != nil {
			t.Errorf("Read(%s) = %v, %v, want nil and ErrNotFound", key, data, err)
		}
	}
	wantAbsent("a")
	state.Delete("a") // an absent entry may be deleted
	state.Write("a", &number{1})
	state.Write("b", &number{2})
	state.Write("a", &number{3})
	if a, b := readNumber(t, state, "a"), readNumber(t, state, "b"); a != 3 || b != 2 {
		t.Errorf("a = %d, b = %d, want 3 and 2", a, b)
	}
	state.Delete("a")
	wantAbsent("a")
	if b := readNumber(t, state, "b"); b != 2 {
		t.Errorf("b = %d after the deletion of a, want 2", b)
	}
	state.Write("none", nil)
	if data, err := state.Clone().Read("none"); data != nil || err != nil {
		t.Errorf("Read of a nil entry = %v, %v, want nil and no error", data, err)
	}
}

// Entries that are written, deleted and cloned at random are those of a map, however many there are.
func TestCycleStateAgainstMap(t *testing.T) {
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 0))
		var state fwk.CycleState = framework.NewCycleState()
		model := map[fwk.StateKey]int{}
		for step := range 200 {
			key := fwk.StateKey(strconv.Itoa(random.IntN(40)))
			switch random.IntN(5) {
			case 0:
				state.Delete(key)
				delete(model, key)
			case 1:
				if random.IntN(10) == 0 {
					state = state.Clone()
				}
			default:
				state.Write(key, &number{step})
				model[key] = step
			}
			for k := range 40 {
				key := fwk.StateKey(strconv.Itoa(k))
				data, err := state.Read(key)
				want, ok := model[key]
				if ok && (err != nil || data.(*number).value != want) || !ok && !errors.Is(err, fwk.ErrNotFound) {
					t.Fatalf("seed %d, step %d: Read(%s) = %v, %v, want %d (%t)", seed, step, key, data, err, want, ok)
				}
			}
		}
	}
}

func TestCycleStateClone(t *testing.T) {
	state := framework.NewCycleState()
	state.Write("a", &number{1})
	clone := state.Clone()
	data, err := clone.Read("a")
	if err != nil {
		t.Fatal(err)
	}
	data.(*number).value = 5
	clone.Write("b", &number{2})
	state.Write("c", &number{3})
	if a := readNumber(t, state, "a"); a != 1 {
		t.Errorf("a = %d in the original after its clone was changed, want 1", a)
	}
	if _, err := state.Read("b"); !errors.Is(err, fwk.ErrNotFound) {
		t.Errorf("an entry written to the clone is in the original: %v", err)
	}
	if _, err := clone.Read("c"); !errors.Is(err, fwk.ErrNotFound) {
		t.Errorf("an entry written to the original is in the clone: %v", err)
	}
	var none *framework.CycleState
	if none.Clone() != nil {
		t.Error("the clone of a nil state is not nil")
	}
}

func TestCycleStateSwitches(t *testing.T) {
	type switches struct {
		Metrics, SkipPostFilter                         bool
		SkipFilter, SkipScore, SkipPreBind, Parallel    sets.Set[string]
		PodGroup, PodGroupStateIsNil, PlacementIsAbsent bool
	}
	view := func(state fwk.CycleState) switches {
		return switches{
			state.ShouldRecordPluginMetrics(), state.ShouldSkipAllPostFilterPlugins(),
			state.GetSkipFilterPlugins(), state.GetSkipScorePlugins(), state.GetSkipPreBindPlugins(), state.GetParallelPreBindPlugins(),
			state.IsPodGroupSchedulingCycle(), state.GetPodGroupSchedulingCycle() == nil, state.GetPlacementCycleState() == nil,
		}
	}
	state := framework.NewCycleState()
	if diff := cmp.Diff(switches{PodGroupStateIsNil: true, PlacementIsAbsent: true}, view(state)); diff != "" {
		t.Errorf("new state (-want +got):\n%s", diff)
	}
	state.SetRecordPluginMetrics(true)
	state.SetSkipAllPostFilterPlugins(true)
	state.SetSkipFilterPlugins(sets.New("f"))
	state.SetSkipScorePlugins(sets.New("s"))
	state.SetSkipPreBindPlugins(sets.New("b"))
	state.SetParallelPreBindPlugins(sets.New("p"))
	want := switches{true, true, sets.New("f"), sets.New("s"), sets.New("b"), sets.New("p"), false, true, true}
	if diff := cmp.Diff(want, view(state)); diff != "" {
		t.Errorf("after the setters (-want +got):\n%s", diff)
	}
	clone := state.Clone()
	if diff := cmp.Diff(want, view(clone)); diff != "" {
		t.Errorf("clone (-want +got):\n%s", diff)
	}
	clone.SetSkipFilterPlugins(sets.New("other"))
	if diff := cmp.Diff(want, view(state)); diff != "" {
		t.Errorf("setting a set of the clone changed the original (-want +got):\n%s", diff)
	}
}

// TestPodsToActivateIsShared lets a plugin that got a clone of the state ask for pods.
func TestPodsToActivateIsShared(t *testing.T) {
	state := framework.NewCycleState()
	wanted := framework.NewPodsToActivate()
	state.Write(framework.PodsToActivateKey, wanted)
	data, err := state.Clone().Read(framework.PodsToActivateKey)
	if err != nil {
		t.Fatal(err)
	}
	inClone := data.(*framework.PodsToActivate)
	inClone.Lock()
	inClone.Map["default/p"] = objects.Pod("p").Build()
	inClone.Unlock()
	if len(wanted.Map) != 1 {
		t.Errorf("the original has %d pods, want the one that was put into the clone", len(wanted.Map))
	}
}

// TestCycleStateConcurrency has the race detector look at readers and writers of one state.
func TestCycleStateConcurrency(t *testing.T) {
	state := framework.NewCycleState()
	state.Write("shared", &number{1})
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			own := fwk.StateKey(strconv.Itoa(i))
			for range 200 {
				state.Write(own, &number{i})
				if got := readNumber(t, state, own); got != i {
					t.Errorf("own entry = %d, want %d", got, i)
				}
				readNumber(t, state.Clone(), "shared")
				state.Delete(own)
			}
		})
	}
	group.Wait()
}

// Whoever has read a value never reads an older one afterwards, also while the state outgrows its first entries.
func TestCycleStateReadsNothingOlder(t *testing.T) {
	for range 50 {
		state := framework.NewCycleState()
		state.Write("counter", &number{0})
		var group sync.WaitGroup
		group.Go(func() {
			for i := range 60 {
				state.Write("counter", &number{i + 1})
				state.Write(fwk.StateKey(strconv.Itoa(i)), nil)
			}
		})
		for range 4 {
			group.Go(func() {
				last := 0
				for range 100 {
					next := readNumber(t, state, "counter")
					if copied := readNumber(t, state.Clone(), "counter"); next < last || copied < next {
						t.Errorf("read %d, and %d in a clone, after %d", next, copied, last)
					}
					last = next
				}
			})
		}
		group.Wait()
		if end := readNumber(t, state, "counter"); end != 60 {
			t.Errorf("read %d at the end, want 60", end)
		}
	}
}
