// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Smallest is a scheduler with a plugin of a few lines.
package main

import (
	"context"
	"os"

	"github.com/rouse-scheduler/rouse/app"
	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"
)

type plugin struct{}

// Name implements fwk.Plugin.
func (plugin) Name() string { return "TeamNodes" }

// Filter implements fwk.FilterPlugin.
func (plugin) Filter(_ context.Context, _ fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo) *fwk.Status {
	if team := node.Node().Labels["team"]; team != "" && team != pod.Labels["team"] {
		return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "node(s) of another team")
	}
	return nil
}

func newPlugin(context.Context, apiruntime.Object, fwk.Handle) (fwk.Plugin, error) {
	return plugin{}, nil
}

func main() { os.Exit(app.Run(app.NewSchedulerCommand(app.WithPlugin("TeamNodes", newPlugin)))) }
