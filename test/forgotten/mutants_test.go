// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package forgotten

import (
	"testing"
	"testing/synctest"

	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/inspect"
	"github.com/rouse-scheduler/rouse/simulate"
)

// mutants returns a mutant for every event that the plugins of a setting register, one action at a time.
func mutants(t *testing.T, s setting) (all []mutant) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		cluster, err := simulate.NewCluster(t.Context(), s.options())
		if err != nil {
			t.Fatal(err)
		}
		defer cluster.Close()
		for _, profile := range cluster.Scheduler().Profiles() {
			for _, plugin := range rejecting() {
				for _, registration := range profile.Registrations()[plugin] {
					for _, action := range actionsOf(registration.Event) {
						all = append(all, mutant{plugin, fwk.ClusterEvent{Resource: registration.Event.Resource, ActionType: action}})
					}
				}
			}
		}
	})
	return all
}

// actionsOf returns the actions of an event; all updates are one if the plugin registers them as one.
func actionsOf(event fwk.ClusterEvent) []fwk.ActionType {
	var actions []fwk.ActionType
	for _, action := range []fwk.ActionType{fwk.Add, fwk.Delete, fwk.Update} {
		if event.ActionType&action == action {
			actions = append(actions, action)
		}
	}
	if event.ActionType&fwk.Update == fwk.Update {
		return actions
	}
	row, _ := framework.LookupResource(event.Resource)
	for _, action := range row.Actions {
		if action.Bit != fwk.Add && action.Bit != fwk.Delete && action.Bit != fwk.Update && event.ActionType&action.Bit != 0 {
			actions = append(actions, action.Bit)
		}
	}
	return actions
}

// TestMutants has each plugin forget an event, and counts how many of these the audit of random clusters finds. An event that
// cannot decide alone whether a pod fits is not found: docs/forgotten-events.md names them.
func TestMutants(t *testing.T) {
	all, found := mutants(t, settings()[0]), 0
	for _, mutant := range all {
		if seed, ok := mutant.foundIn(t, 2*clusters(t)); ok {
			found++
			t.Logf("%v: found in cluster %d", mutant, seed)
		} else {
			t.Logf("%v: not found", mutant)
		}
	}
	t.Logf("%d of %d forgotten events were found, in at most %d clusters each", found, len(all), 2*clusters(t))
	const least = 12 // are found in the first two clusters
	if found < least {
		t.Errorf("only %d of %d forgotten events were found, at least %d should be", found, len(all), least)
	}
}

// foundIn returns the first of so many random clusters in which the audit finds the event that the mutant forgets.
func (m mutant) foundIn(t *testing.T, clusters uint64) (seed uint64, found bool) {
	t.Helper()
	for seed = range clusters {
		synctest.Test(t, func(t *testing.T) {
			audit, _ := alone(m.registry(), m.plugin).auditRandom(t, seed)
			for key := range missesOf(audit) {
				found = found || key == miss{m.plugin, m.forgot.Label(), inspect.MissReasonNotRegistered}
			}
		})
		if found {
			return seed, true
		}
	}
	return 0, false
}
