// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package nodeports

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// EventsToRegister implements fwk.EnqueueExtensions. Ports of a pod never change, and updates of a node don't free any,
// so only a pod that goes away or a new node can help.
//
// The hint reads host IP, protocol and port, of which the plugin signs the port alone; [Plugin.HintClass] covers all.
func (pl *plugin) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return []fwk.ClusterEventWithHint{
		{
			Event:          fwk.ClusterEvent{Resource: fwk.AssignedPod, ActionType: fwk.Delete},
			QueueingHintFn: framework.HintFor(afterPodDeleted),
		},
		{Event: fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add}},
	}, nil
}

// afterPodDeleted wakes a pod if the deleted one gave a port back that it wants.
func afterPodDeleted(_ klog.Logger, pod *v1.Pod, deleted, _ *v1.Pod) (fwk.QueueingHint, error) {
	if deleted == nil {
		return fwk.Queue, nil
	}
	if deleted.Spec.NodeName == "" && deleted.Status.NominatedNodeName == "" {
		return fwk.QueueSkip, nil
	}
	freed := fwk.HostPortInfo{}
	for _, port := range framework.HostPorts(deleted) {
		freed.Add(port.HostIP, string(port.Protocol), port.HostPort)
	}
	if anyInUse(framework.HostPorts(pod), freed) {
		return fwk.Queue, nil
	}
	return fwk.QueueSkip, nil
}
