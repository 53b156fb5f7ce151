// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package volumebinding

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	storagevolume "k8s.io/component-helpers/storage/volume"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugins/internal/podvolumes"
	"github.com/rouse-scheduler/rouse/plugins/internal/statedata"
)

// Reserve implements fwk.ReservePlugin: it assumes the plan for the node, so that other pods see its claims as bound already.
func (pl *plugin) Reserve(_ context.Context, state fwk.CycleState, pod *v1.Pod, nodeName string) *fwk.Status {
	ofPod, err := statedata.Read[*podState](state, stateKey)
	if err != nil {
		return fwk.AsStatus(err)
	}
	if len(ofPod.delayed) == 0 || pl.allBound(pod) {
		ofPod.setAllBound(true)
		return nil
	}
	p, err := pl.planOn(ofPod, nodeName)
	switch {
	case err != nil:
		pl.metrics.StageFailed(stageReserve)
		return fwk.AsStatus(err)
	case p == nil:
		ofPod.setAllBound(true)
		return nil
	}
	reserved, err := pl.assume(p, nodeName)
	if err != nil {
		pl.metrics.StageFailed(stageReserve)
		return fwk.AsStatus(err)
	}
	ofPod.setAllBound(false)
	ofPod.setPlan(nodeName, reserved)
	return nil
}

// planOn returns how the claims are to be bound on a node that passed Filter; nil if there is no such node any more. It comes to
// the same as then, since it goes by what PreFilter found.
func (pl *plugin) planOn(ofPod *podState, nodeName string) (*plan, error) {
	node, err := pl.node(nodeName)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("looking up node %s: %w", nodeName, err)
	}
	p := &plan{}
	reason, err := planDelayed(ofPod.delayed, node, p)
	switch {
	case err != nil:
		return nil, fmt.Errorf("finding volumes on node %s: %w", nodeName, err)
	case reason != "":
		return nil, fmt.Errorf("finding volumes on node %s: %s", nodeName, reason)
	}
	return p, nil
}

// node returns a node of the snapshot, or as the informer has it.
func (pl *plugin) node(name string) (*v1.Node, error) {
	if snapshot := pl.handle.SnapshotSharedLister(); snapshot != nil {
		if info, err := snapshot.NodeInfos().Get(name); err == nil {
			return info.Node(), nil
		}
	}
	return pl.nodes.Get(name)
}

// Unreserve implements fwk.ReservePlugin: it takes back what Reserve assumed and is not written yet. It may be called
// again, and without Reserve.
func (pl *plugin) Unreserve(_ context.Context, state fwk.CycleState, _ *v1.Pod, nodeName string) {
	ofPod, err := statedata.Read[*podState](state, stateKey)
	if err != nil {
		return
	}
	if p := ofPod.planFor(nodeName); p != nil {
		pl.restore(p)
	}
}

// allBound reports whether all claims of the pod are bound by now.
func (pl *plugin) allBound(pod *v1.Pod) bool {
	for i := range pod.Spec.Volumes {
		name, ok := podvolumes.ClaimName(pod, &pod.Spec.Volumes[i])
		if !ok {
			continue
		}
		if claim, err := pl.claims.Get(pod.Namespace + "/" + name); err != nil || !isBound(claim) {
			return false
		}
	}
	return true
}

// assume returns the plan with its objects as they are to be written, and assumes these. If it fails, nothing is assumed.
func (pl *plugin) assume(p *plan, nodeName string) (*plan, error) {
	written := &plan{}
	for _, b := range p.bindings {
		volume, changed, err := storagevolume.GetBindVolumeToClaim(b.volume, b.claim)
		if err == nil && changed {
			err = pl.volumes.Assume(volume)
		}
		if err != nil {
			pl.restore(written)
			return nil, err
		}
		written.bindings = append(written.bindings, binding{claim: b.claim, volume: volume})
	}
	for _, made := range p.provisions {
		claim := made.claim.DeepCopy()
		metav1.SetMetaDataAnnotation(&claim.ObjectMeta, storagevolume.AnnSelectedNode, nodeName)
		if err := pl.claims.Assume(claim); err != nil {
			pl.restore(written)
			return nil, err
		}
		written.provisions = append(written.provisions, provision{claim: claim})
	}
	return written, nil
}

// restore takes back what was assumed of a plan. What another pod assumed of the same objects stays.
func (pl *plugin) restore(p *plan) {
	for _, b := range p.bindings {
		pl.volumes.Restore(b.volume)
	}
	for _, made := range p.provisions {
		pl.claims.Restore(made.claim)
	}
}
