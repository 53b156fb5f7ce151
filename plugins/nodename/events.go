// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package nodename

import (
	"context"

	fwk "k8s.io/kube-scheduler/framework"
)

// EventsToRegister implements fwk.EnqueueExtensions. Only the named node itself, when it appears, can help.
//
// There is no hint, so nothing of the pod is read and what the plugin signs is more than enough to share a class.
func (pl *plugin) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return []fwk.ClusterEventWithHint{
		{Event: fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add}},
	}, nil
}
