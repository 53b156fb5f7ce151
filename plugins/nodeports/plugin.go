// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package nodeports is the plugin NodePorts: a node takes a pod only if the host ports that it asks for are free there.
//
//   - Extension points: PreFilter, Filter, Sign.
//   - Arguments: none.
//   - Wakes on: a pod that held one of the ports is deleted; a node is added.
//   - Reads: the host ports of the pod and those in use on the node.
package nodeports

import (
	"context"

	apiruntime "k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// Name is the name of the plugin in profiles.
const Name = "NodePorts"

// reasonPortsInUse is why a node is rejected.
const reasonPortsInUse = "node(s) didn't have free ports for the requested pod ports"

var (
	_ fwk.PreFilterPlugin       = &plugin{}
	_ fwk.FilterPlugin          = &plugin{}
	_ fwk.EnqueueExtensions     = &plugin{}
	_ fwk.SignPlugin            = &plugin{}
	_ framework.HintClassPlugin = &plugin{}
)

// plugin implements NodePorts. It has no state.
type plugin struct{}

// New builds the plugin; arguments and handle are not used.
func New(context.Context, apiruntime.Object, fwk.Handle) (fwk.Plugin, error) {
	return &plugin{}, nil
}

// Name implements fwk.Plugin.
func (pl *plugin) Name() string { return Name }
