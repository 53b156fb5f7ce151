// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package forgotten

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rouse-scheduler/rouse/inspect"
	"github.com/rouse-scheduler/rouse/internal/randomcluster"
	"github.com/rouse-scheduler/rouse/runtime"
	"github.com/rouse-scheduler/rouse/simulate"
	"github.com/rouse-scheduler/rouse/test/kubescheduler"
)

// clusters is how many random clusters are audited with each profile; CLUSTERS sets it.
func clusters(t *testing.T) uint64 {
	t.Helper()
	text := os.Getenv("CLUSTERS")
	if text == "" {
		return 1
	}
	number, err := strconv.ParseUint(text, 10, 32)
	if err != nil || number == 0 {
		t.Fatalf("CLUSTERS is %q, which is no number of clusters", text)
	}
	return number
}

// rejecting are the plugins of the default profile that reject pods and wait for events.
func rejecting() []string {
	return []string{
		"DynamicResources", "InterPodAffinity", "NodeAffinity", "NodeDeclaredFeatures", "NodePorts", "NodeResourcesFit",
		"NodeUnschedulable", "NodeVolumeLimits", "PodTopologySpread", "SchedulingGates", "TaintToleration", "VolumeBinding",
		"VolumeRestrictions", "VolumeZone",
	}
}

// settings are the default profile, and a profile for each plugin alone, in which no other plugin hides what it misses.
func settings() []setting {
	all := []setting{{registry: kubescheduler.Plugins()}}
	for _, plugin := range rejecting() {
		all = append(all, alone(kubescheduler.Plugins(), plugin))
	}
	return all
}

// alone returns a profile for a plugin and what it needs: pods with scheduling gates cannot be bound without SchedulingGates, and
// NodeVolumeLimits counts the volumes of claims, which VolumeBinding binds.
func alone(registry runtime.Registry, plugin string) setting {
	only := []string{"SchedulingGates", "VolumeBinding", plugin}
	switch plugin {
	case "SchedulingGates":
		only = only[:1]
	case "NodeVolumeLimits":
	default:
		only = slices.Delete(only, 1, 2)
	}
	return setting{registry: registry, only: only}
}

// known returns what docs/forgotten-events.md has: what a scenario shows, and what only shows where another plugin is missing.
func known(t *testing.T) map[miss]bool {
	t.Helper()
	all := map[miss]bool{
		{"DynamicResources", "resource.k8s.io/DeviceClassDelete", inspect.MissReasonNotRegistered}: true,
	}
	for _, example := range counterExamples(t) {
		all[example.shows] = true
	}
	return all
}

// TestRandomClusters audits kube-scheduler's plugins in random clusters. What they miss must be known; anything else is
// shrunk and printed as a scenario.
func TestRandomClusters(t *testing.T) {
	known := known(t)
	for _, setting := range settings() {
		t.Run(setting.String(), func(t *testing.T) {
			total, times := inspect.AuditSummary{}, map[miss]int{}
			for seed := range clusters(t) {
				synctest.Test(t, func(t *testing.T) {
					found, steps := setting.auditRandom(t, seed)
					total.RightWakeups += found.Summary.RightWakeups
					total.WastedWakeups += found.Summary.WastedWakeups
					total.RightSkips += found.Summary.RightSkips
					for key, missed := range missesOf(found) {
						if times[key]++; !known[key] {
							known[key] = true
							t.Errorf("seed %d: %v\n%s", seed, key, shrunk(t, setting, key, until(steps, missed.At)))
						}
					}
				})
			}
			t.Logf("%d clusters, %d answers of hints", clusters(t), total.RightWakeups+total.WastedWakeups+total.RightSkips)
			for _, key := range sorted(times) {
				t.Logf("in %d of them %v", times[key], key)
			}
		})
	}
}

// shrunk returns the smallest scenario that shows a miss, with the default profile if possible.
func shrunk(t *testing.T, s setting, key miss, steps []randomcluster.Step) string {
	t.Helper()
	shows := func(steps []randomcluster.Step) bool {
		text, err := scenarioOf(steps)
		if err != nil {
			t.Fatal(err)
		}
		found, err := s.audit(t.Context(), text)
		return err == nil && missesOf(found)[key] != nil
	}
	if !shows(steps) {
		return "the scenario does not show it"
	}
	steps = fewer(steps, shows)
	alone := s
	if s.only = nil; !shows(steps) {
		s = alone
	}
	text, err := scenarioOf(simpler(steps, shows))
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("in %v:\n%s", s, text)
}

// until returns the steps up to a time.
func until(steps []randomcluster.Step, end simulate.Time) []randomcluster.Step {
	after := slices.IndexFunc(steps, func(step randomcluster.Step) bool { return step.At > time.Duration(end) })
	if after < 0 {
		return steps
	}
	return steps[:after]
}
