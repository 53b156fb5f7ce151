// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package defaultpreemption

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
)

// EventsToRegister implements fwk.EnqueueExtensions. The deletion of a pod wakes nobody by itself. It is registered so that
// PreEnqueue is asked again, when another plugin has the deletion wake a pod that is held back.
func (pl *Plugin) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return []fwk.ClusterEventWithHint{{
		Event:          fwk.ClusterEvent{Resource: fwk.AssignedPod, ActionType: fwk.Delete},
		QueueingHintFn: leaveItToOthers,
	}}, nil
}

func leaveItToOthers(klog.Logger, *v1.Pod, any, any) (fwk.QueueingHint, error) {
	return fwk.QueueSkip, nil
}

// HintClass implements framework.HintClassPlugin: the hint treats all pods alike.
func (pl *Plugin) HintClass(*v1.Pod) (class string, ok bool) { return "", true }
