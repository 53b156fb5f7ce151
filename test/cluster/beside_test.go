// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// What the process uses on the same work as kube-scheduler: all pods exist when it starts. Each has an API server of its
// own, one after the other.
func TestUsageBesideKubeScheduler(t *testing.T) {
	type run struct {
		name  string
		start func(context.Context, *testing.T, *Fixture) *Scheduler
	}
	alone := map[string]any{"leaderElection.leaderElect": false}
	runs := []run{
		{"rouse", func(_ context.Context, t *testing.T, f *Fixture) *Scheduler {
			return f.Rouse(t, "rouse", f.Front, alone)
		}},
		{"kube-scheduler", func(ctx context.Context, t *testing.T, f *Fixture) *Scheduler {
			return f.KubeScheduler(ctx, t, f.Front, alone)
		}},
	}
	table := fmt.Sprintf("%d nodes, %d pods\n%-15s %10s %10s %12s %10s\n", settings.nodes, settings.pods,
		"", "seconds", "CPU s", "CPU µs/pod", "peak MiB")
	for _, run := range runs {
		t.Run(run.name, func(t *testing.T) {
			ctx := t.Context()
			f := NewFixture(ctx, t, settings.Binaries, InsteadOf)
			CreateNodes(ctx, t, f.Client, settings.nodes)
			CreatePods(ctx, t, f.Client, f.SchedulerName(t), settings.pods)
			watch := WatchBindings(ctx, t, f.Client)
			start := time.Now()
			scheduler := run.start(ctx, t, f)
			watch.WaitBound(ctx, settings.pods, enough)
			seconds := time.Since(start).Seconds()
			watch.Check(ctx, f.Client, f.Front.Record(), false)
			usage, err := scheduler.Usage()
			if err != nil {
				t.Fatal(err)
			}
			table += fmt.Sprintf("%-15s %10.1f %10.2f %12d %10d\n", run.name, seconds, usage.CPU.Seconds(),
				usage.CPU.Microseconds()/int64(settings.pods), usage.PeakRSS>>20)
		})
	}
	t.Log("process of the scheduler, ", table)
}
