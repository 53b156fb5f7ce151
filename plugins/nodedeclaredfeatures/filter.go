// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package nodedeclaredfeatures

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	ndf "k8s.io/component-helpers/nodedeclaredfeatures"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugins/internal/statedata"
)

const preFilterKey fwk.StateKey = "PreFilter" + Name

// requiredFeatures is what the pod being scheduled needs of a node.
type requiredFeatures struct{ ndf.FeatureSet }

// Clone implements fwk.StateData; the set never changes and is shared.
func (r *requiredFeatures) Clone() fwk.StateData { return r }

// PreFilter implements fwk.PreFilterPlugin. It skips a pod that needs nothing in particular, as nearly all do.
func (pl *plugin) PreFilter(_ context.Context, state fwk.CycleState, pod *v1.Pod, _ []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	required, err := pl.required(pod)
	if err != nil {
		return nil, fwk.AsStatus(err)
	}
	if required.IsEmpty() {
		return nil, fwk.NewStatus(fwk.Skip)
	}
	state.Write(preFilterKey, &requiredFeatures{required})
	return nil, nil
}

// PreFilterExtensions implements fwk.PreFilterPlugin; other pods don't matter.
func (pl *plugin) PreFilterExtensions() fwk.PreFilterExtensions { return nil }

// Filter implements fwk.FilterPlugin.
func (pl *plugin) Filter(_ context.Context, state fwk.CycleState, _ *v1.Pod, nodeInfo fwk.NodeInfo) *fwk.Status {
	required, err := statedata.Read[*requiredFeatures](state, preFilterKey)
	if err != nil {
		return fwk.AsStatus(err)
	}
	declared, err := required.IsSubset(nodeInfo.GetNodeDeclaredFeatures())
	if err != nil {
		return fwk.AsStatus(fmt.Errorf("comparing needed features with those of node %s: %w", nodeInfo.Node().Name, err))
	}
	if !declared {
		return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, reasonMissing)
	}
	return nil
}
