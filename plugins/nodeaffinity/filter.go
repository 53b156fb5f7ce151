// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package nodeaffinity

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugins/internal/statedata"
)

const preFilterKey fwk.StateKey = "PreFilter" + Name

// requiredAffinity is the parsed node selector and required node affinity of the pod being scheduled.
type requiredAffinity struct {
	nodeaffinity.RequiredNodeAffinity
}

// Clone implements fwk.StateData; the selectors never change and are shared.
func (r *requiredAffinity) Clone() fwk.StateData { return r }

// PreFilter implements fwk.PreFilterPlugin. It skips a pod for which nothing is required, and narrows the nodes if the
// required affinity names them.
func (pl *plugin) PreFilter(_ context.Context, state fwk.CycleState, pod *v1.Pod, _ []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	required := requiredSelector(pod)
	if required == nil && pl.addedRequired == nil && pod.Spec.NodeSelector == nil {
		return nil, fwk.NewStatus(fwk.Skip)
	}
	state.Write(preFilterKey, &requiredAffinity{nodeaffinity.GetRequiredNodeAffinity(pod)})
	if required == nil {
		return nil, nil
	}
	names := namedNodes(required.NodeSelectorTerms)
	if names != nil && names.Len() == 0 {
		return nil, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, reasonConflict)
	}
	if names == nil {
		return nil, nil
	}
	return &fwk.PreFilterResult{NodeNames: names}, nil
}

// PreFilterExtensions implements fwk.PreFilterPlugin; other pods don't matter.
func (pl *plugin) PreFilterExtensions() fwk.PreFilterExtensions { return nil }

// Filter implements fwk.FilterPlugin. It works without PreFilter too, at the price of parsing the affinity every time.
func (pl *plugin) Filter(_ context.Context, state fwk.CycleState, pod *v1.Pod, nodeInfo fwk.NodeInfo) *fwk.Status {
	node := nodeInfo.Node()
	if pl.addedRequired != nil && !pl.addedRequired.Match(node) {
		return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, reasonEnforced)
	}
	required, err := statedata.Read[*requiredAffinity](state, preFilterKey)
	if err != nil {
		required = &requiredAffinity{nodeaffinity.GetRequiredNodeAffinity(pod)}
	}
	// An affinity that does not parse matches no node.
	if matches, _ := required.Match(node); !matches {
		return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, reasonPod)
	}
	return nil
}

func requiredSelector(pod *v1.Pod) *v1.NodeSelector {
	if affinity := pod.Spec.Affinity; affinity != nil && affinity.NodeAffinity != nil {
		return affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	return nil
}

// namedNodes returns the names of the only nodes that the terms can match, or nil if some term doesn't name its nodes.
// Names come from the field metadata.name with operator In alone; no terms name nothing.
func namedNodes(terms []v1.NodeSelectorTerm) sets.Set[string] {
	var all sets.Set[string]
	for i := range terms {
		var ofTerm sets.Set[string]
		for _, field := range terms[i].MatchFields {
			if field.Key != "metadata.name" || field.Operator != v1.NodeSelectorOpIn {
				continue
			}
			values := sets.New(field.Values...)
			if ofTerm != nil {
				values = ofTerm.Intersection(values)
			}
			ofTerm = values
		}
		if ofTerm == nil {
			return nil
		}
		all = all.Union(ofTerm)
	}
	return all
}
