// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package nodename is the plugin NodeName: a pod with spec.nodeName is placed on that node and no other. Pods that
// wait for a scheduler have no spec.nodeName as a rule, and every node suits them.
//
//   - Extension points: PreFilter, Filter, Sign.
//   - Arguments: none.
//   - Wakes on: a node is added.
//   - Reads: spec.nodeName of the pod and the name of the node; neither changes.
package nodename

import (
	"context"

	apiruntime "k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"
)

// Name is the name of the plugin in profiles.
const Name = "NodeName"

// reasonOtherNode is why a node is rejected.
const reasonOtherNode = "node(s) didn't match the requested node name"

var (
	_ fwk.PreFilterPlugin   = &plugin{}
	_ fwk.FilterPlugin      = &plugin{}
	_ fwk.EnqueueExtensions = &plugin{}
	_ fwk.SignPlugin        = &plugin{}
)

// plugin implements NodeName. It has no state.
type plugin struct{}

// New builds the plugin; arguments and handle are not used.
func New(context.Context, apiruntime.Object, fwk.Handle) (fwk.Plugin, error) {
	return &plugin{}, nil
}

// Name implements fwk.Plugin.
func (pl *plugin) Name() string { return Name }
