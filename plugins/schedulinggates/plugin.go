// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package schedulinggates is the plugin SchedulingGates: a pod with spec.schedulingGates (KEP-3521) is kept out of the
// queue until the last gate is removed.
//
//   - Extension points: PreEnqueue.
//   - Arguments: none.
//   - Wakes on: the last scheduling gate of the pod itself is removed.
//   - Reads: the pod only.
package schedulinggates

import (
	"context"

	apiruntime "k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"
)

// Name is the name of the plugin in profiles.
const Name = "SchedulingGates"

var (
	_ fwk.PreEnqueuePlugin  = &plugin{}
	_ fwk.EnqueueExtensions = &plugin{}
)

// plugin implements SchedulingGates. It has no state.
type plugin struct{}

// New builds the plugin; arguments and handle are not used.
func New(context.Context, apiruntime.Object, fwk.Handle) (fwk.Plugin, error) {
	return &plugin{}, nil
}

// Name implements fwk.Plugin.
func (pl *plugin) Name() string { return Name }
