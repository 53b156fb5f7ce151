// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package prioritysort is the plugin PrioritySort: it decides which of the waiting pods is tried next. A higher
// priority goes first, and among equals the one that has been in the queue for longer since it was last put there.
//
//   - Extension points: QueueSort. A profile has exactly one such plugin, and all profiles share it.
//   - Arguments: none.
//   - Wakes on: nothing, since it rejects no pod.
//   - Reads: the two queue entries.
package prioritysort

import (
	"context"

	apiruntime "k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"
)

// Name is the name of the plugin in profiles.
const Name = "PrioritySort"

var _ fwk.QueueSortPlugin = &plugin{}

// plugin implements PrioritySort. It has no state.
type plugin struct{}

// New builds the plugin; arguments and handle are not used.
func New(context.Context, apiruntime.Object, fwk.Handle) (fwk.Plugin, error) {
	return &plugin{}, nil
}

// Name implements fwk.Plugin.
func (pl *plugin) Name() string { return Name }
