// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package schedulinggates

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
)

// EventsToRegister implements fwk.EnqueueExtensions.
//
// The plugin signs nothing and gives no hint class: its one event is about the waiting pod itself, so there is nothing
// to share between pods.
func (pl *plugin) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return []fwk.ClusterEventWithHint{{
		Event:          fwk.ClusterEvent{Resource: fwk.TargetPod, ActionType: fwk.UpdatePodSchedulingGatesEliminated},
		QueueingHintFn: afterGatesEliminated,
	}}, nil
}

// afterGatesEliminated has nothing left to check: the event happens only when the last gate goes.
func afterGatesEliminated(klog.Logger, *v1.Pod, any, any) (fwk.QueueingHint, error) {
	return fwk.Queue, nil
}
