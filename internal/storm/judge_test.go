// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package storm

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/cache"
	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/queue"
	"github.com/rouse-scheduler/rouse/runtime"
)

// asked is the snapshot that plugins see when they are asked; it can be replaced.
type asked struct{ fwk.SharedLister }

// judge asks plugins where pods fit, with nothing but the objects of the API server.
type judge struct {
	ctx     context.Context
	profile *runtime.Framework
	lister  *asked
	nodes   []*v1.Node
}

// newJudge returns a judge with plugins that only answer questions.
func (in *instance) newJudge() *judge {
	if in.built == nil {
		in.lister = &asked{}
		var err error
		if in.built, err = in.BuildProfiles(in.ctx, in.lister); err != nil {
			panic(fmt.Sprintf("building plugins to be asked: %v", err))
		}
	}
	return &judge{ctx: in.ctx, profile: in.built[v1.DefaultSchedulerName], lister: in.lister, nodes: sorted[*v1.Node](in.api, nodes)}
}

// ask returns what the Filter plugins say about a pod on every node with some pods placed.
func (j *judge) ask(pod *v1.Pod, placed []*v1.Pod) []*fwk.Status {
	j.lister.SharedLister = cache.NewSnapshot(placed, j.nodes)
	statuses := make([]*fwk.Status, len(j.nodes))
	state := framework.NewCycleState()
	result, status, _ := j.profile.RunPreFilterPlugins(j.ctx, state, pod)
	for i, node := range j.nodes {
		switch {
		case !status.IsSuccess():
			statuses[i] = status
			continue
		case result != nil && !result.AllNodes() && !result.NodeNames.Has(node.Name):
			statuses[i] = fwk.NewStatus(fwk.UnschedulableAndUnresolvable)
			continue
		}
		info, err := j.lister.NodeInfos().Get(node.Name)
		if err != nil {
			statuses[i] = fwk.AsStatus(err)
			continue
		}
		statuses[i] = j.profile.RunFilterPlugins(j.ctx, state, pod, info)
	}
	return statuses
}

// fits returns why a pod may not go to a node, for every node; it must suit the node with and without the pods that the node is
// kept free for.
func (j *judge) fits(pod *v1.Pod, placed, kept []*v1.Pod) []*fwk.Status {
	statuses := j.ask(pod, placed)
	if len(kept) == 0 {
		return statuses
	}
	for i, status := range j.ask(pod, slices.Concat(placed, kept)) {
		if statuses[i].IsSuccess() {
			statuses[i] = status
		}
	}
	return statuses
}

// fitsWithoutOthers reports whether a pod may go to a node, by its number, without the less important pods there.
func (j *judge) fitsWithoutOthers(pod *v1.Pod, i int, placed, kept []*v1.Pod) bool {
	if policy := pod.Spec.PreemptionPolicy; policy != nil && *policy == v1.PreemptNever {
		return false
	}
	rest := slices.DeleteFunc(slices.Clone(placed), func(other *v1.Pod) bool {
		return other.Spec.NodeName == j.nodes[i].Name && *other.Spec.Priority < *pod.Spec.Priority
	})
	return len(rest) < len(placed) && j.fits(pod, rest, kept)[i].IsSuccess()
}

// judge checks that every pod that waits for a node has a reason to.
func (in *instance) judge() {
	var waiting, placed []*v1.Pod
	for _, pod := range sorted[*v1.Pod](in.api, pods) {
		switch {
		case !unfinished(pod):
		case pod.Spec.NodeName != "":
			placed = append(placed, pod)
		case len(pod.Spec.SchedulingGates) == 0 && pod.Labels[held] == "":
			waiting = append(waiting, pod)
		}
	}
	if len(waiting) == 0 {
		return
	}
	j := in.newJudge()
	for _, pod := range waiting {
		kept := in.keptFrom(pod)
		for i, status := range j.fits(pod, placed, kept) {
			node := j.nodes[i].Name
			switch {
			case status.IsSuccess():
				in.violate("sleeps although it fits", "pod %s fits on node %s, and is %s", pod.Name, node, in.why(pod))
			case status.Code() == fwk.Unschedulable && j.fitsWithoutOthers(pod, i, placed, kept):
				in.violate("sleeps although it could preempt", "pod %s would fit on node %s without less important pods, and is %s", pod.Name, node, in.why(pod))
			}
		}
	}
}

// keptFrom returns the pods for which nodes are kept free that a pod may not take, although they do not go there: those that were
// held back after preemption had made room for them, and those that never preempt, which keep the nomination that they have.
func (in *instance) keptFrom(pod *v1.Pod) (list []*v1.Pod) {
	for _, other := range sorted[*v1.Pod](in.api, pods) {
		status, _ := in.Queue().Lookup(other.Namespace, other.Name)
		keeps := status.Pool == queue.PoolGated || other.Spec.PreemptionPolicy != nil && *other.Spec.PreemptionPolicy == v1.PreemptNever
		if !keeps || other.UID == pod.UID || *other.Spec.Priority < *pod.Spec.Priority {
			continue
		}
		for _, node := range in.Queue().NominatedNodes() {
			for _, nominated := range in.Queue().NominatedPodsForNode(node) {
				if nominated.GetPod().UID == other.UID {
					placed := *other
					placed.Spec.NodeName = node
					list = append(list, &placed)
				}
			}
		}
	}
	return list
}

func (in *instance) why(pod *v1.Pod) string {
	status, found := in.Queue().Lookup(pod.Namespace, pod.Name)
	if !found {
		return "not in the queue"
	}
	return string(status.Pool) + " because of " + fmt.Sprint(status.UnschedulablePlugins, status.PendingPlugins, status.GatingPlugin)
}
