// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package gang is a plugin that binds the pods of a gang together or not at all.
package gang

import (
	"context"
	"fmt"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	listersv1 "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

const (
	// Name is the name of the plugin in profiles.
	Name = "Gang"
	// Label is the label of pods that names their gang, within a namespace.
	Label = "example.com/gang"
	// SizeLabel is the label of pods that says how many the gang has.
	SizeLabel = "example.com/gang-size"
	// patience is how long a pod with a node waits for its siblings.
	patience = time.Minute
)

var (
	_ fwk.PreFilterPlugin   = &Plugin{}
	_ fwk.PostFilterPlugin  = &Plugin{}
	_ fwk.PermitPlugin      = &Plugin{}
	_ fwk.EnqueueExtensions = &Plugin{}
)

// Plugin binds gangs together. It keeps nothing: who waits is known to the handle, who there is to the lister.
type Plugin struct {
	handle fwk.Handle
	pods   listersv1.PodLister
}

// New builds the plugin, which has no arguments.
func New(_ context.Context, _ apiruntime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	pods := handle.SharedInformerFactory().Core().V1().Pods()
	// The informer of a scheduler has no index by namespace, without which listing the pods of one looks at all.
	if indexes := pods.Informer().GetIndexer().GetIndexers(); indexes[cache.NamespaceIndex] == nil {
		err := pods.Informer().AddIndexers(cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
		if err != nil {
			return nil, fmt.Errorf("indexing pods by namespace: %w", err)
		}
	}
	return &Plugin{handle: handle, pods: pods.Lister()}, nil
}

// Name implements fwk.Plugin.
func (p *Plugin) Name() string { return Name }

// EventsToRegister implements fwk.EnqueueExtensions: a sibling comes, or a pod leaves a node. A sibling that is refused is
// such a pod as well.
func (p *Plugin) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return []fwk.ClusterEventWithHint{
		{Event: fwk.ClusterEvent{Resource: fwk.Pod, ActionType: fwk.Add | fwk.Delete}},
		{Event: fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add | fwk.UpdateNodeAllocatable}},
	}, nil
}

// PreFilter implements fwk.PreFilterPlugin: a gang is not begun before all of it is there.
func (p *Plugin) PreFilter(_ context.Context, _ fwk.CycleState, pod *v1.Pod, _ []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	size, inGang := sizeOf(pod)
	if !inGang {
		return nil, fwk.NewStatus(fwk.Skip)
	}
	siblings, err := p.siblings(pod)
	if err != nil {
		return nil, fwk.AsStatus(err)
	}
	if len(siblings) < size {
		return nil, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, fmt.Sprintf("gang has %d of %d pods", len(siblings), size))
	}
	return nil, nil
}

// PreFilterExtensions implements fwk.PreFilterPlugin.
func (p *Plugin) PreFilterExtensions() fwk.PreFilterExtensions { return nil }

// Permit implements fwk.PermitPlugin: a pod waits until all of its siblings have a node, and has them tried at once.
func (p *Plugin) Permit(_ context.Context, state fwk.CycleState, pod *v1.Pod, _ string) (*fwk.Status, time.Duration) {
	size, inGang := sizeOf(pod)
	if !inGang {
		return nil, 0
	}
	siblings, err := p.siblings(pod)
	if err != nil {
		return fwk.AsStatus(err), 0
	}
	ready := 1
	for _, sibling := range siblings {
		if sibling.UID != pod.UID && (sibling.Spec.NodeName != "" || p.handle.GetWaitingPod(sibling.UID) != nil) {
			ready++
		}
	}
	if ready >= size {
		p.forSiblings(pod, func(waiting fwk.WaitingPod) { waiting.Allow(Name) })
		return nil, 0
	}
	activate(state, pod, siblings)
	return fwk.NewStatus(fwk.Wait), patience
}

// PostFilter implements fwk.PostFilterPlugin: one that fits nowhere takes the others along.
func (p *Plugin) PostFilter(_ context.Context, _ fwk.CycleState, pod *v1.Pod, _ fwk.NodeToStatusReader) (*fwk.PostFilterResult, *fwk.Status) {
	if _, inGang := sizeOf(pod); !inGang {
		return nil, fwk.NewStatus(fwk.Unschedulable)
	}
	p.forSiblings(pod, func(waiting fwk.WaitingPod) { waiting.Reject(Name, "pod "+pod.Name+" of the gang fits nowhere") })
	return nil, fwk.NewStatus(fwk.Unschedulable, "the gang does not fit")
}

// siblings returns all pods of the gang, the given one included.
func (p *Plugin) siblings(pod *v1.Pod) ([]*v1.Pod, error) {
	siblings, err := p.pods.Pods(pod.Namespace).List(labels.SelectorFromSet(labels.Set{Label: pod.Labels[Label]}))
	if err != nil {
		return nil, fmt.Errorf("listing the pods of gang %s/%s: %w", pod.Namespace, pod.Labels[Label], err)
	}
	return siblings, nil
}

func (p *Plugin) forSiblings(pod *v1.Pod, do func(fwk.WaitingPod)) {
	p.handle.IterateOverWaitingPods(func(waiting fwk.WaitingPod) {
		if other := waiting.GetPod(); other.Namespace == pod.Namespace && other.Labels[Label] == pod.Labels[Label] {
			do(waiting)
		}
	})
}

// activate asks for the siblings that have no node yet to be tried at the end of the cycle.
func activate(state fwk.CycleState, pod *v1.Pod, siblings []*v1.Pod) {
	data, err := state.Read(framework.PodsToActivateKey)
	if err != nil {
		return
	}
	if wanted, ok := data.(*framework.PodsToActivate); ok {
		wanted.Lock()
		defer wanted.Unlock()
		for _, sibling := range siblings {
			if sibling.UID != pod.UID && sibling.Spec.NodeName == "" {
				wanted.Map[sibling.Namespace+"/"+sibling.Name] = sibling
			}
		}
	}
}

// sizeOf returns how many pods the gang of a pod has, and whether it has one.
func sizeOf(pod *v1.Pod) (int, bool) {
	size, err := strconv.Atoi(pod.Labels[SizeLabel])
	return size, err == nil && pod.Labels[Label] != ""
}
