// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package notbuilt_test

import (
	"testing"

	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugins/notbuilt"
)

// What a stand-in says in PostFilter must not alter what users read about a pod, nor where it is nominated to go.
func TestPostFilter(t *testing.T) {
	plugin, err := notbuilt.NewDynamicResources(t.Context(), nil, nil)
	build(t, plugin, err)
	result, status := plugin.(fwk.PostFilterPlugin).PostFilter(t.Context(), framework.NewCycleState(), fixture.Pod("p"), nil)
	fixture.CheckStatus(t, status, fwk.NewStatus(fwk.Unschedulable))
	if status.Message() != "" || result != nil {
		t.Errorf("got message %q and result %v, want neither", status.Message(), result)
	}
}

func TestOtherPointsDoNothing(t *testing.T) {
	pod, ctx, state := fixture.Pod("p"), t.Context(), framework.NewCycleState()
	devices, err := notbuilt.NewDynamicResources(ctx, nil, nil)
	build(t, devices, err)

	fixture.CheckStatus(t, devices.(fwk.PreEnqueuePlugin).PreEnqueue(ctx, pod), nil)
	if _, ok := devices.(fwk.PreScorePlugin); ok {
		t.Error("DynamicResources implements PreScore")
	}
	score, status := devices.(fwk.ScorePlugin).Score(ctx, state, pod, nil)
	fixture.CheckStatus(t, status, nil)
	if score != 0 || devices.(fwk.ScorePlugin).ScoreExtensions() != nil {
		t.Errorf("%s scores %d", devices.Name(), score)
	}
	fixture.CheckStatus(t, devices.(fwk.ReservePlugin).Reserve(ctx, state, pod, "n"), nil)
	devices.(fwk.ReservePlugin).Unreserve(ctx, state, pod, "n")
	flight, status := devices.(fwk.PreBindPlugin).PreBindPreFlight(ctx, state, pod, "n")
	fixture.CheckStatus(t, status, fwk.NewStatus(fwk.Skip))
	if !flight.AllowParallel {
		t.Errorf("%s keeps its neighbours from running in parallel", devices.Name())
	}
	fixture.CheckStatus(t, devices.(fwk.PreBindPlugin).PreBind(ctx, state, pod, "n"), nil)
	result, status := devices.(fwk.PodGroupPostFilterPlugin).PodGroupPostFilter(ctx, nil, nil, nil)
	fixture.CheckStatus(t, status, fwk.NewStatus(fwk.Unschedulable))
	if result != nil {
		t.Errorf("got result %v, want none", result)
	}
}
