// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tainttoleration is the plugin TaintToleration: a pod is not placed on a node with a taint of effect
// NoSchedule or NoExecute that it doesn't tolerate, and prefers nodes with few untolerated taints of effect
// PreferNoSchedule.
//
//   - Extension points: PreFilter, Filter, PreScore, Score with normalisation, Sign.
//   - Arguments: none.
//   - Wakes on: a node is added or its taints change so that the pod now tolerates them all; the pod itself gets a
//     toleration.
//   - Reads: the tolerations of the pod and spec.taints of the node; pods on the node don't matter. The normalised
//     score depends on all nodes that are left.
package tainttoleration

import (
	"context"

	apiruntime "k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"
)

// Name is the name of the plugin in profiles.
const Name = "TaintToleration"

// reasonUntolerated is why a node is rejected.
const reasonUntolerated = "node(s) had untolerated taint(s)"

var (
	_ fwk.PreFilterPlugin   = &plugin{}
	_ fwk.FilterPlugin      = &plugin{}
	_ fwk.PreScorePlugin    = &plugin{}
	_ fwk.ScorePlugin       = &plugin{}
	_ fwk.ScoreExtensions   = &plugin{}
	_ fwk.EnqueueExtensions = &plugin{}
	_ fwk.SignPlugin        = &plugin{}
)

// plugin implements TaintToleration. It has no state.
type plugin struct{}

// New builds the plugin; arguments and handle are not used.
func New(context.Context, apiruntime.Object, fwk.Handle) (fwk.Plugin, error) {
	return &plugin{}, nil
}

// Name implements fwk.Plugin.
func (pl *plugin) Name() string { return Name }
