// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// registered is the event source of a profile that does not have to be built.
type registered struct {
	name    string
	plugins map[string][]fwk.ClusterEventWithHint
}

func (r registered) ProfileName() string                                  { return r.name }
func (r registered) Registrations() map[string][]fwk.ClusterEventWithHint { return r.plugins }
func (r registered) EventMap() framework.EventMap {
	events := framework.EventMap{}
	for plugin, registrations := range r.plugins {
		for _, registration := range registrations {
			events.Register(plugin, registration.Event)
		}
	}
	return events
}

func wakes(resource fwk.EventResource, actions fwk.ActionType) fwk.ClusterEventWithHint {
	return fwk.ClusterEventWithHint{Event: fwk.ClusterEvent{Resource: resource, ActionType: actions}}
}

func hints(resource fwk.EventResource, actions fwk.ActionType) fwk.ClusterEventWithHint {
	event := wakes(resource, actions)
	event.QueueingHintFn = func(klog.Logger, *v1.Pod, any, any) (fwk.QueueingHint, error) { return fwk.Queue, nil }
	return event
}

// usualProfile has some of the registrations of the in-tree plugins.
func usualProfile() registered {
	return registered{name: "default-scheduler", plugins: map[string][]fwk.ClusterEventWithHint{
		"SchedulingGates": {hints(fwk.TargetPod, fwk.UpdatePodSchedulingGatesEliminated)},
		"NodeName":        {wakes(fwk.Node, fwk.Add)},
		"NodeAffinity":    {hints(fwk.Node, fwk.Add|fwk.UpdateNodeLabel)},
		"NodePorts":       {hints(fwk.AssignedPod, fwk.Delete), wakes(fwk.Node, fwk.Add)},
		"NodeResourcesFit": {
			hints(fwk.AssignedPod, fwk.Delete), hints(fwk.AssignedPod, fwk.UpdatePodScaleDown),
			hints(fwk.TargetPod, fwk.UpdatePodScaleDown), hints(fwk.Node, fwk.Add|fwk.UpdateNodeAllocatable),
			hints(fwk.DeviceClass, fwk.Add|fwk.Update),
		},
		"NodeUnschedulable":    {hints(fwk.Node, fwk.Add|fwk.UpdateNodeTaint), hints(fwk.TargetPod, fwk.UpdatePodToleration)},
		"TaintToleration":      {hints(fwk.Node, fwk.Add|fwk.UpdateNodeTaint), hints(fwk.TargetPod, fwk.UpdatePodToleration)},
		"NodeDeclaredFeatures": {hints(fwk.TargetPod, fwk.Update), hints(fwk.Node, fwk.Add|fwk.UpdateNodeDeclaredFeature)},
	}}
}
