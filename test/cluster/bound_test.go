// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"testing"
	"time"
)

func TestPodsAreBoundOnce(t *testing.T) {
	ctx := t.Context()
	f := NewFixture(ctx, t, settings.Binaries, Beside)
	CreateNodes(ctx, t, f.Client, settings.nodes)
	watch := WatchBindings(ctx, t, f.Client)
	start := time.Now()
	s := f.KubeScheduler(ctx, t, f.Front, map[string]any{"leaderElection.leaderElect": false})
	s.WaitReady(ctx, t)
	t.Logf("ready after %v", time.Since(start))
	CreatePods(ctx, t, f.Client, f.SchedulerName(t), settings.pods)
	watch.WaitBound(ctx, settings.pods, 5*time.Minute)
	t.Logf("bound after %v", time.Since(start))
	watch.Check(ctx, f.Client, f.Front.Record())
	usage, err := s.Usage()
	t.Logf("%v %v %v", usage.CPU, usage.PeakRSS>>20, err)
}
