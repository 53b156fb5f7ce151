// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app_test

import (
	"context"

	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/app"
)

// weekend is a plugin that knows which nodes may be used at weekends.
type weekend struct{}

func (weekend) Name() string { return "Weekend" }

func (weekend) Filter(_ context.Context, _ fwk.CycleState, _ *v1.Pod, node fwk.NodeInfo) *fwk.Status {
	if node.Node().Annotations["example.com/weekend"] != "yes" {
		return fwk.NewStatus(fwk.Unschedulable, "node(s) were off for the weekend")
	}
	return nil
}

func (weekend) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return []fwk.ClusterEventWithHint{
		{Event: fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add | fwk.UpdateNodeAnnotation}},
	}, nil
}

func newWeekend(context.Context, apiruntime.Object, fwk.Handle) (fwk.Plugin, error) {
	return weekend{}, nil
}

// A main function hands the code of Run to os.Exit, and leaves the arguments to the process.
func ExampleNewSchedulerCommand() {
	command := app.NewSchedulerCommand(app.WithPlugin("Weekend", newWeekend))
	command.SetArgs([]string{"events", "--config", "testdata/weekend.yaml", "--plugin", "Weekend"})
	app.Run(command)
	// Output:
	// Profile default-scheduler
	//
	//   EVENT                     PLUGIN   WAKES ITS PODS
	//   NodeAdd                   Weekend  always
	//   NodeUpdateNodeAnnotation  Weekend  always
}
