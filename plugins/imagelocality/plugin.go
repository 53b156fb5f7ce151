// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package imagelocality is the plugin ImageLocality: nodes that already hold the images of a pod are preferred, the
// more so the larger the images are and the more nodes hold them, so that one node with a rare image does not draw
// every pod.
//
//   - Extension points: Score, Sign.
//   - Arguments: none.
//   - Wakes on: nothing, since it rejects no pod.
//   - Reads: the image names of the pod, the images of the node, how many nodes hold each, and how many nodes there are.
//     The last two change without a change of the node.
package imagelocality

import (
	"context"

	apiruntime "k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"
)

// Name is the name of the plugin in profiles.
const Name = "ImageLocality"

var (
	_ fwk.ScorePlugin = &plugin{}
	_ fwk.SignPlugin  = &plugin{}
)

// plugin implements ImageLocality.
type plugin struct {
	handle fwk.Handle
}

// New builds the plugin; arguments are not used.
func New(_ context.Context, _ apiruntime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	return &plugin{handle: handle}, nil
}

// Name implements fwk.Plugin.
func (pl *plugin) Name() string { return Name }
