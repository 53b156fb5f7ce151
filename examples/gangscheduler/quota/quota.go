// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package quota is a plugin that guarantees teams a number of pods. A team may run more while there is room, and loses
// those when another one needs the room for what it is guaranteed.
package quota

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugins/preemption"
	"github.com/rouse-scheduler/rouse/runtime"
)

const (
	// Name is the name of the plugin in profiles.
	Name = "Quota"
	// TeamLabel is the label of pods that names their team.
	TeamLabel = "example.com/team"
)

// Args are the arguments of the plugin.
type Args struct {
	// Guaranteed is how many pods each team can count on. A team that is not named has only borrowed ones.
	Guaranteed map[string]int `json:"guaranteed"`
}

var _ fwk.PostFilterPlugin = &Plugin{}

// Plugin has borrowers evicted for pods that are within the guarantee of their team.
type Plugin struct {
	evaluator *preemption.Evaluator
}

// New builds the plugin for one profile.
func New(_ context.Context, written apiruntime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	var args Args
	if err := runtime.DecodeInto(written, &args); err != nil {
		return nil, fmt.Errorf("decoding the arguments of %s: %w", Name, err)
	}
	evaluator, err := preemption.NewEvaluator(preemption.Options{
		PluginName: Name,
		Handle:     handle,
		Hooks: &hooks{
			DefaultHooks: preemption.NewDefaultHooks(preemption.HooksOptions{Handle: handle}),
			handle:       handle,
			guaranteed:   args.Guaranteed,
		},
	})
	if err != nil {
		return nil, err
	}
	return &Plugin{evaluator: evaluator}, nil
}

// Name implements fwk.Plugin.
func (p *Plugin) Name() string { return Name }

// PostFilter implements fwk.PostFilterPlugin.
func (p *Plugin) PostFilter(ctx context.Context, state fwk.CycleState, pod *v1.Pod, statuses fwk.NodeToStatusReader) (*fwk.PostFilterResult, *fwk.Status) {
	return p.evaluator.Preempt(ctx, state, pod, statuses)
}

// hooks choose the victims by guarantee in place of priority.
type hooks struct {
	*preemption.DefaultHooks
	handle     fwk.Handle
	guaranteed map[string]int
}

// SelectVictimsOnNode implements preemption.Hooks: the youngest borrowers, until the pod fits.
func (h *hooks) SelectVictimsOnNode(
	ctx context.Context, state fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo, _ []*policyv1.PodDisruptionBudget,
) ([]*v1.Pod, int, *fwk.Status) {
	running, err := h.podsByTeam()
	if err != nil {
		return nil, 0, fwk.AsStatus(err)
	}
	team := pod.Labels[TeamLabel]
	if running[team] >= h.guaranteed[team] {
		return nil, 0, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "team "+team+" has all that it is guaranteed")
	}
	// As plugins for kube-scheduler do, which gives them a copy of the node: the list is sorted where it is.
	pods := node.GetPods()
	slices.SortStableFunc(pods, func(a, b fwk.PodInfo) int {
		return b.GetPod().CreationTimestamp.Compare(a.GetPod().CreationTimestamp.Time)
	})
	var victims []*v1.Pod
	for _, other := range slices.Clone(pods) {
		lender := other.GetPod().Labels[TeamLabel]
		if lender == team || running[lender] <= h.guaranteed[lender] {
			continue
		}
		if err := node.RemovePod(klog.FromContext(ctx), other.GetPod()); err != nil {
			return nil, 0, fwk.AsStatus(fmt.Errorf("removing pod %s from node %s: %w", other.GetPod().Name, node.Node().Name, err))
		}
		if status := h.handle.RunPreFilterExtensionRemovePod(ctx, state, pod, other, node); !status.IsSuccess() {
			return nil, 0, status
		}
		running[lender]--
		victims = append(victims, other.GetPod())
		if h.handle.RunFilterPluginsWithNominatedPods(ctx, state, pod, node).IsSuccess() {
			return victims, 0, nil
		}
	}
	return nil, 0, fwk.NewStatus(fwk.Unschedulable, "evicting borrowers does not make enough room")
}

// podsByTeam counts the pods that have a node.
func (h *hooks) podsByTeam() (map[string]int, error) {
	nodes, err := h.handle.SnapshotSharedLister().NodeInfos().List()
	if err != nil {
		return nil, fmt.Errorf("listing nodes to count the pods of teams: %w", err)
	}
	running := map[string]int{}
	for _, node := range nodes {
		for _, pod := range node.GetPods() {
			running[pod.GetPod().Labels[TeamLabel]]++
		}
	}
	return running, nil
}
