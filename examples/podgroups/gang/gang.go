// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package gang

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rouse-scheduler/rouse/framework"

	"example.com/podgroups/api/v1alpha1"
)

// PreEnqueue implements fwk.PreEnqueuePlugin: a pod is not tried before its PodGroup is there.
func (p *Plugin) PreEnqueue(ctx context.Context, pod *v1.Pod) *fwk.Status {
	group, err := p.groupOf(ctx, pod)
	if err != nil {
		return fwk.AsStatus(err)
	}
	if group == nil && pod.Labels[Label] != "" {
		return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "there is no PodGroup "+pod.Labels[Label])
	}
	return nil
}

// PreFilter implements fwk.PreFilterPlugin: a gang is not begun before enough of its pods are there.
func (p *Plugin) PreFilter(ctx context.Context, _ fwk.CycleState, pod *v1.Pod, _ []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	group, err := p.groupOf(ctx, pod)
	if err != nil {
		return nil, fwk.AsStatus(err)
	}
	if group == nil {
		return nil, fwk.NewStatus(fwk.Skip)
	}
	members, err := p.members(pod)
	if err != nil {
		return nil, fwk.AsStatus(err)
	}
	if len(members) < group.Spec.MinMember {
		return nil, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, fmt.Sprintf("the gang has %d of %d pods", len(members), group.Spec.MinMember))
	}
	return nil, nil
}

// PreFilterExtensions implements fwk.PreFilterPlugin.
func (p *Plugin) PreFilterExtensions() fwk.PreFilterExtensions { return nil }

// Reserve implements fwk.ReservePlugin. Who has a place is known to the handle, so that there is nothing to write down.
func (p *Plugin) Reserve(context.Context, fwk.CycleState, *v1.Pod, string) *fwk.Status { return nil }

// Unreserve implements fwk.ReservePlugin: if a pod loses its place, those that wait for it lose theirs.
func (p *Plugin) Unreserve(_ context.Context, _ fwk.CycleState, pod *v1.Pod, _ string) {
	p.forWaiting(pod, func(waiting fwk.WaitingPod) { waiting.Reject(Name, "pod "+pod.Name+" of the gang lost its place") })
}

// Permit implements fwk.PermitPlugin: a pod that has a place waits until enough pods of its gang have one.
func (p *Plugin) Permit(ctx context.Context, state fwk.CycleState, pod *v1.Pod, _ string) (*fwk.Status, time.Duration) {
	group, err := p.groupOf(ctx, pod)
	if err != nil {
		return fwk.AsStatus(err), 0
	}
	if group == nil {
		return nil, 0
	}
	members, err := p.members(pod)
	if err != nil {
		return fwk.AsStatus(err), 0
	}
	placed := 1
	for _, member := range members {
		if member.UID != pod.UID && (member.Spec.NodeName != "" || p.handle.GetWaitingPod(member.UID) != nil) {
			placed++
		}
	}
	if placed < group.Spec.MinMember {
		activate(state, pod, members)
		return fwk.NewStatus(fwk.Wait), p.args.PermitTimeout.Duration
	}
	p.forWaiting(pod, func(waiting fwk.WaitingPod) { waiting.Allow(Name) })
	return nil, 0
}

// PostBind implements fwk.PostBindPlugin: it writes down that the gang is scheduled.
func (p *Plugin) PostBind(ctx context.Context, _ fwk.CycleState, pod *v1.Pod, _ string) {
	group, err := p.groupOf(ctx, pod)
	if err == nil && group != nil && group.Status.Phase != "Scheduled" {
		changed := group.DeepCopyObject().(*v1alpha1.PodGroup)
		changed.Status.Phase = "Scheduled"
		err = p.groups.Status().Patch(ctx, changed, client.MergeFrom(group))
	}
	if err != nil {
		klog.FromContext(ctx).Error(err, "Writing the status of a PodGroup", "pod", klog.KObj(pod))
	}
}

// forWaiting does something with the other pods of the gang that wait in Permit.
func (p *Plugin) forWaiting(pod *v1.Pod, do func(fwk.WaitingPod)) {
	p.handle.IterateOverWaitingPods(func(waiting fwk.WaitingPod) {
		other := waiting.GetPod()
		if name := pod.Labels[Label]; name != "" && other.Namespace == pod.Namespace && other.Labels[Label] == name {
			do(waiting)
		}
	})
}

// activate has the pods of the gang without a node tried after this attempt, as soon as can be.
func activate(state fwk.CycleState, pod *v1.Pod, members []*v1.Pod) {
	data, err := state.Read(framework.PodsToActivateKey)
	if err != nil {
		return // not every caller of Permit has pods activated
	}
	if pods, ok := data.(*framework.PodsToActivate); ok {
		pods.Lock()
		defer pods.Unlock()
		for _, member := range members {
			if member.UID != pod.UID && member.Spec.NodeName == "" {
				pods.Map[member.Namespace+"/"+member.Name] = member
			}
		}
	}
}
