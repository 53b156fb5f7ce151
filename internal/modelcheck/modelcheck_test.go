// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package modelcheck

import (
	"context"
	"os"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/rouse-scheduler/rouse/internal/mutant"
)

// TestSmall explores some states of every instance.
func TestSmall(t *testing.T) {
	for _, in := range instances() {
		t.Run(in.name, func(t *testing.T) { check(t, in, number("STATES", statesInTest)) })
	}
}

// number returns a number from the environment.
func number(name string, byDefault int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return byDefault
}

// check explores an instance.
func check(t *testing.T, in *instance, most int) found {
	t.Helper()
	f := explore(in, most)
	all := "not all"
	if f.complete {
		all = "all"
	}
	t.Logf("%7d states (%s), %8d transitions, %5d final, %6d runs, %3d steps deep, %v", f.states, all, f.transitions, f.final, f.runs, f.depth, f.took.Round(time.Millisecond))
	if f.problem != "" {
		t.Errorf("violation after %d steps in %q: %s\n%s\nas a scenario:\n%s", len(f.trace), in.name, f.problem, describeTrace(f.trace), in.scenario(f.trace))
	}
	return f
}

// TestMutantsFit checks that the texts of the mutants are still there.
func TestMutantsFit(t *testing.T) {
	root, err := mutant.Root()
	if err != nil {
		t.Fatal(err)
	}
	if err := mutant.Check(root, mutants()); err != nil {
		t.Error(err)
	}
}

// TestFind looks for a violation in all instances, in more and more states. It is what runs on mutants.
func TestFind(t *testing.T) {
	for _, most := range []int{100, 1000, 5000, 30000} {
		if most > number("FIND", 0) {
			return
		}
		for _, in := range instances() {
			if f := check(t, in, most); f.problem != "" {
				return
			}
		}
	}
}

// TestProve is `make prove`: it explores as many states of each instance as STATES says, and then has TestFind find each
// mutant whose name matches MUTANTS.
func TestProve(t *testing.T) {
	if os.Getenv("PROVE") == "" {
		return // TestSmall is what runs then
	}
	total := found{}
	for _, in := range instances() {
		t.Run(in.name, func(t *testing.T) {
			f := check(t, in, number("STATES", 200000))
			total.states, total.transitions, total.final = total.states+f.states, total.transitions+f.transitions, total.final+f.final
			total.runs, total.took = total.runs+f.runs, total.took+f.took
		})
	}
	t.Logf("%d states, %d transitions, %d final, %d runs, %v", total.states, total.transitions, total.final, total.runs, total.took.Round(time.Second))
	names := regexp.MustCompile(os.Getenv("MUTANTS"))
	for _, m := range mutants() {
		if names.MatchString(m.Name) {
			t.Run(m.Name, func(t *testing.T) { findMutant(t, m) })
		}
	}
}

// findMutant has TestFind find a mutant.
func findMutant(t *testing.T, m mutant.Mutant) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	result, err := mutant.Test{Package: "internal/modelcheck", Run: "^TestFind$", Env: []string{"FIND=" + strconv.Itoa(number("FIND", 30000))}}.Try(ctx, m)
	violation := regexp.MustCompile(`violation after (\d+) steps in "(.*)": (.*)`).FindStringSubmatch(result.Output)
	if err != nil || !result.Found || violation == nil {
		t.Fatalf("it survives: %v\n%s", err, result.Output)
	}
	t.Logf("| %s | %s | %s | %s | %s |", m.Name, m.File, violation[1], violation[2], violation[3])
}
