// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package defaultbinder is the plugin DefaultBinder: it tells the API server that a pod goes to a node.
//
//   - Extension points: Bind. It never leaves a pod to another Bind plugin.
//   - Arguments: none.
//   - Wakes on: nothing; a pod whose binding fails is tried again after its backoff.
//   - Reads: the pod's namespace, name and UID.
package defaultbinder

import (
	"context"

	apiruntime "k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"
)

// Name is the name of the plugin in profiles.
const Name = "DefaultBinder"

var _ fwk.BindPlugin = &plugin{}

// plugin implements DefaultBinder.
type plugin struct {
	handle fwk.Handle
}

// New builds the plugin; arguments are not used.
func New(_ context.Context, _ apiruntime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	return &plugin{handle: handle}, nil
}

// Name implements fwk.Plugin.
func (pl *plugin) Name() string { return Name }
