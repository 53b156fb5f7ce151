// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package rackbudget

import (
	"context"
	"fmt"
	"maps"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// ReasonFull is why nodes are rejected. The message of the pod counts the nodes: "2 node(s) in a rack ...".
const ReasonFull = "node(s) in a rack without room for the team"

// stateKey is where the plugin keeps its usage between PreFilter and Filter.
const stateKey fwk.StateKey = "PreFilter" + Name

// usage counts the pods of the team in question by rack.
type usage struct {
	pods map[string]int
}

// Clone implements fwk.StateData. What is tried out on the copy must not be seen in the original.
func (u *usage) Clone() fwk.StateData { return &usage{pods: maps.Clone(u.pods)} }

// PreFilter implements fwk.PreFilterPlugin: it counts once what Filter looks up for every node.
func (p *Plugin) PreFilter(_ context.Context, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	team := p.team(pod)
	if team == "" {
		return nil, fwk.NewStatus(fwk.Skip)
	}
	counted := &usage{pods: map[string]int{}}
	for _, node := range nodes {
		for _, other := range node.GetPods() {
			if p.team(other.GetPod()) == team {
				counted.pods[p.rack(node.Node())]++
			}
		}
	}
	state.Write(stateKey, counted)
	return nil, nil
}

// PreFilterExtensions implements fwk.PreFilterPlugin.
func (p *Plugin) PreFilterExtensions() fwk.PreFilterExtensions { return p }

// AddPod implements fwk.PreFilterExtensions: what if another pod ran on the node, too?
func (p *Plugin) AddPod(_ context.Context, state fwk.CycleState, pod *v1.Pod, added fwk.PodInfo, node fwk.NodeInfo) *fwk.Status {
	return p.change(state, pod, added, node, 1)
}

// RemovePod implements fwk.PreFilterExtensions: what if a pod were gone from the node?
func (p *Plugin) RemovePod(_ context.Context, state fwk.CycleState, pod *v1.Pod, removed fwk.PodInfo, node fwk.NodeInfo) *fwk.Status {
	return p.change(state, pod, removed, node, -1)
}

func (p *Plugin) change(state fwk.CycleState, pod *v1.Pod, other fwk.PodInfo, node fwk.NodeInfo, by int) *fwk.Status {
	counted, err := read(state)
	if err != nil {
		return fwk.AsStatus(err)
	}
	if p.team(other.GetPod()) == p.team(pod) {
		counted.pods[p.rack(node.Node())] += by
	}
	return nil
}

// Filter implements fwk.FilterPlugin.
func (p *Plugin) Filter(_ context.Context, state fwk.CycleState, _ *v1.Pod, node fwk.NodeInfo) *fwk.Status {
	counted, err := read(state)
	if err != nil {
		return fwk.AsStatus(err)
	}
	rack := p.rack(node.Node())
	if rack != "" && counted.pods[rack] >= p.args.PodsPerRack {
		return fwk.NewStatus(fwk.Unschedulable, ReasonFull)
	}
	return nil
}

func read(state fwk.CycleState) (*usage, error) {
	data, err := state.Read(stateKey)
	if err != nil {
		return nil, fmt.Errorf("reading the counts of PreFilter: %w", err)
	}
	counted, ok := data.(*usage)
	if !ok {
		return nil, fmt.Errorf("reading the counts of PreFilter: unexpected %T", data)
	}
	return counted, nil
}
