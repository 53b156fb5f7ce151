// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package storm

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

const (
	pluginName = "Storm"
	// wants is the label of a pod that goes only to nodes with the same label and value.
	wants = "wants"
	// held is the label of a pod that is not to be queued.
	held = "held"
	// gang is the label of pods that are only bound together, gangSize of them.
	gang     = "gang"
	gangSize = 3
)

var (
	_ fwk.PreEnqueuePlugin  = &plugin{}
	_ fwk.PreFilterPlugin   = &plugin{}
	_ fwk.FilterPlugin      = &plugin{}
	_ fwk.PostFilterPlugin  = &plugin{}
	_ fwk.ReservePlugin     = &plugin{}
	_ fwk.PermitPlugin      = &plugin{}
	_ fwk.PreBindPlugin     = &plugin{}
	_ fwk.PostBindPlugin    = &plugin{}
	_ fwk.EnqueueExtensions = &plugin{}
)

// plugin is an out-of-tree plugin that has rules of its own, and breaks those of the framework as often as the steps want.
type plugin struct {
	in     *instance
	handle fwk.Handle
	// owed are the pods that it rejected, or let sleep, without a reason that an event could take away. It activates them when
	// it comes to its senses.
	owed map[types.UID]*v1.Pod
	// honest is set for one that only answers questions.
	honest bool
}

// newPlugin is the factory. The first plugin is that of the scheduler, others are made to be asked.
func (in *instance) newPlugin(_ context.Context, _ apiruntime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	if in.plugin.handle == nil {
		in.plugin.handle = handle
		return in.plugin, nil
	}
	return &plugin{in: in, handle: handle, honest: true}, nil
}

// Name implements fwk.Plugin.
func (p *plugin) Name() string { return pluginName }

// misbehave takes its time, panics, fails, or rejects the pod; nil is none of these.
func (p *plugin) misbehave(method string, pod *v1.Pod) *fwk.Status {
	w := p.in.world
	if p.honest || p.in.ended {
		return nil
	}
	if w.often(w.rates.hanging) && !w.pause("%s of %s", method, pod.Name) {
		return fwk.AsStatus(errors.New("the scheduler has ended"))
	}
	if !w.often(w.rates.misbehaving) {
		return nil
	}
	switch choice := w.dice.IntN(6); {
	case choice == 0:
		w.note("%s panics for %s", method, pod.Name)
		panic("a plugin that panics")
	case choice < 3:
		w.note("%s fails for %s", method, pod.Name)
		return fwk.AsStatus(errors.New("a plugin that fails"))
	case choice == 3 && method == "PreFilter":
		p.owed[pod.UID] = pod
		w.note("%s has %s pending", method, pod.Name)
		return fwk.NewStatus(fwk.Pending, "for no reason")
	case choice == 4:
		p.owed[pod.UID] = pod
		w.note("%s rejects %s for good", method, pod.Name)
		return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "for no reason")
	}
	p.owed[pod.UID] = pod
	w.note("%s rejects %s", method, pod.Name)
	return fwk.NewStatus(fwk.Unschedulable, "for no reason")
}

// PreEnqueue implements fwk.PreEnqueuePlugin. Its locks don't allow a pause.
func (p *plugin) PreEnqueue(_ context.Context, pod *v1.Pod) *fwk.Status {
	if pod.Labels[held] != "" {
		return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "the pod is held")
	}
	return nil
}

// PreFilter implements fwk.PreFilterPlugin.
func (p *plugin) PreFilter(_ context.Context, _ fwk.CycleState, pod *v1.Pod, _ []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	return nil, p.misbehave("PreFilter", pod)
}

// PreFilterExtensions implements fwk.PreFilterPlugin.
func (p *plugin) PreFilterExtensions() fwk.PreFilterExtensions { return nil }

// Filter implements fwk.FilterPlugin.
func (p *plugin) Filter(_ context.Context, _ fwk.CycleState, pod *v1.Pod, info fwk.NodeInfo) *fwk.Status {
	if want := pod.Labels[wants]; want != "" && info.Node().Labels[wants] != want {
		return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "the node has not what the pod wants")
	}
	if p.in.dice.IntN(8) == 0 {
		return p.misbehave("Filter", pod)
	}
	return nil
}

// PostFilter implements fwk.PostFilterPlugin. A pod of a gang that does not fit turns down the others that wait for it.
func (p *plugin) PostFilter(
	_ context.Context, _ fwk.CycleState, pod *v1.Pod, _ fwk.NodeToStatusReader,
) (*fwk.PostFilterResult, *fwk.Status) {
	if name := pod.Labels[gang]; name != "" && !p.in.calm {
		p.rejectSiblings(pod, name)
	}
	if status := p.misbehave("PostFilter", pod); status != nil {
		return nil, status
	}
	return nil, fwk.NewStatus(fwk.Unschedulable, "nothing can be done")
}

func (p *plugin) rejectSiblings(pod *v1.Pod, name string) {
	p.handle.IterateOverWaitingPods(func(waiting fwk.WaitingPod) {
		if waiting.GetPod().Labels[gang] == name {
			p.owed[waiting.GetPod().UID] = waiting.GetPod()
			waiting.Reject(pluginName, fmt.Sprintf("%s of the gang does not fit", pod.Name))
		}
	})
}

// Reserve implements fwk.ReservePlugin.
func (p *plugin) Reserve(_ context.Context, _ fwk.CycleState, pod *v1.Pod, node string) *fwk.Status {
	p.in.reserved(pod, node)
	return p.misbehave("Reserve", pod)
}

// Unreserve implements fwk.ReservePlugin.
func (p *plugin) Unreserve(_ context.Context, _ fwk.CycleState, pod *v1.Pod, _ string) {
	p.in.unreserved(pod)
	if w := p.in.world; !p.in.ended && w.often(w.rates.hanging) {
		w.pause("Unreserve of %s", pod.Name)
	}
}

// Permit implements fwk.PermitPlugin.
func (p *plugin) Permit(_ context.Context, _ fwk.CycleState, pod *v1.Pod, _ string) (*fwk.Status, time.Duration) {
	if status := p.misbehave("Permit", pod); status != nil {
		return status, 0
	}
	w := p.in.world
	if w.calm || w.quiet {
		return nil, 0
	}
	if name := pod.Labels[gang]; name != "" {
		return p.permitGang(pod, name)
	}
	if w.often(w.rates.waiting) {
		p.owed[pod.UID] = pod
		w.note("%s waits for permission", pod.Name)
		return fwk.NewStatus(fwk.Wait), time.Duration(1+w.dice.IntN(60)) * time.Second
	}
	return nil, 0
}

func (p *plugin) permitGang(pod *v1.Pod, name string) (*fwk.Status, time.Duration) {
	var siblings []fwk.WaitingPod
	p.handle.IterateOverWaitingPods(func(waiting fwk.WaitingPod) {
		if waiting.GetPod().Labels[gang] == name {
			siblings = append(siblings, waiting)
		}
	})
	if len(siblings)+1 < gangSize {
		p.owed[pod.UID] = pod
		p.in.note("%s waits for its gang", pod.Name)
		return fwk.NewStatus(fwk.Wait), time.Duration(5+p.in.dice.IntN(30)) * time.Second
	}
	for _, sibling := range siblings {
		sibling.Allow(pluginName)
	}
	return nil, 0
}

// PreBindPreFlight implements fwk.PreBindPlugin.
func (p *plugin) PreBindPreFlight(context.Context, fwk.CycleState, *v1.Pod, string) (*fwk.PreBindPreFlightResult, *fwk.Status) {
	if p.in.often(p.in.rates.preparing) {
		return nil, nil
	}
	return nil, fwk.NewStatus(fwk.Skip)
}

// PreBind implements fwk.PreBindPlugin.
func (p *plugin) PreBind(_ context.Context, _ fwk.CycleState, pod *v1.Pod, _ string) *fwk.Status {
	return p.misbehave("PreBind", pod)
}

// PostBind implements fwk.PostBindPlugin.
func (p *plugin) PostBind(_ context.Context, _ fwk.CycleState, pod *v1.Pod, _ string) {
	if w := p.in.world; !p.in.ended && w.often(w.rates.hanging) {
		w.pause("PostBind of %s", pod.Name)
	}
}

// EventsToRegister implements fwk.EnqueueExtensions.
func (p *plugin) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return []fwk.ClusterEventWithHint{
		{
			Event:          fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add | fwk.UpdateNodeLabel},
			QueueingHintFn: framework.HintFor(p.afterNodeChange),
		},
		{
			Event:          fwk.ClusterEvent{Resource: fwk.TargetPod, ActionType: fwk.UpdatePodLabel},
			QueueingHintFn: func(klog.Logger, *v1.Pod, any, any) (fwk.QueueingHint, error) { return fwk.Queue, nil },
		},
	}, nil
}

// afterNodeChange is a hint that lies.
func (p *plugin) afterNodeChange(_ klog.Logger, pod *v1.Pod, _, node *v1.Node) (fwk.QueueingHint, error) {
	w := p.in.world
	if !p.honest && w.often(w.rates.lying) {
		switch w.dice.IntN(4) {
		case 0:
			panic("a hint that panics")
		case 1:
			return fwk.QueueSkip, errors.New("a hint that fails")
		case 2:
			return fwk.Queue, nil
		}
		p.owed[pod.UID] = pod
		w.note("a hint lets %s sleep", pod.Name)
		return fwk.QueueSkip, nil
	}
	if node != nil && node.Labels[wants] != pod.Labels[wants] {
		return fwk.QueueSkip, nil
	}
	return fwk.Queue, nil
}

// comeToSenses allows the pods that wait, and has those tried again that were wronged.
func (p *plugin) comeToSenses() {
	for _, waiting := range p.in.waiting() {
		waiting.Allow(pluginName)
	}
	if len(p.owed) > 0 {
		wronged := map[string]*v1.Pod{}
		for _, pod := range p.owed {
			wronged[key(pod)] = pod
		}
		p.handle.Activate(klog.Logger{}, wronged)
		clear(p.owed)
	}
}
