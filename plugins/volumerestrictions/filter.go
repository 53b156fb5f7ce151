// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package volumerestrictions

import (
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/podvolumes"
	"github.com/rouse-scheduler/rouse/plugins/internal/statedata"
)

const preFilterKey fwk.StateKey = "PreFilter" + Name

// exclusiveClaims are the claims of the pod being scheduled that are for one pod only, and how often other pods use them.
type exclusiveClaims struct {
	// names never changes and is shared by clones.
	names sets.Set[string]
	uses  int
}

// Clone implements fwk.StateData.
func (e *exclusiveClaims) Clone() fwk.StateData {
	return &exclusiveClaims{names: e.names, uses: e.uses}
}

// usesOf counts the volumes of another pod that name one of the claims. Only names are compared, not namespaces.
func (e *exclusiveClaims) usesOf(pod *v1.Pod) int {
	uses := 0
	for i := range pod.Spec.Volumes {
		if claim := pod.Spec.Volumes[i].PersistentVolumeClaim; claim != nil && e.names.Has(claim.ClaimName) {
			uses++
		}
	}
	return uses
}

// PreFilter implements fwk.PreFilterPlugin. It skips pods without inline disks whose claims are free.
func (pl *plugin) PreFilter(_ context.Context, state fwk.CycleState, pod *v1.Pod, _ []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	names, err := pl.exclusive(pod)
	if err != nil {
		return nil, podvolumes.LookupStatus(err)
	}
	claims := &exclusiveClaims{names: names}
	for name := range names {
		if pl.handle.SnapshotSharedLister().StorageInfos().IsPVCUsedByPods(pod.Namespace + "/" + name) {
			claims.uses++
		}
	}
	if claims.uses == 0 && !hasRestrictedDisk(pod) {
		return nil, fwk.NewStatus(fwk.Skip)
	}
	state.Write(preFilterKey, claims)
	return nil, nil
}

// exclusive returns the names of the claims that the pod names and that are for one pod only.
func (pl *plugin) exclusive(pod *v1.Pod) (sets.Set[string], error) {
	names := sets.New[string]()
	for i := range pod.Spec.Volumes {
		named := pod.Spec.Volumes[i].PersistentVolumeClaim
		if named == nil {
			continue
		}
		claim, err := pl.claims.PersistentVolumeClaims(pod.Namespace).Get(named.ClaimName)
		if err != nil {
			return nil, err
		}
		if slices.Contains(claim.Spec.AccessModes, v1.ReadWriteOncePod) {
			names.Insert(named.ClaimName)
		}
	}
	return names, nil
}

// PreFilterExtensions implements fwk.PreFilterPlugin.
func (pl *plugin) PreFilterExtensions() fwk.PreFilterExtensions { return pl }

// AddPod implements fwk.PreFilterExtensions.
func (pl *plugin) AddPod(_ context.Context, state fwk.CycleState, _ *v1.Pod, added fwk.PodInfo, _ fwk.NodeInfo) *fwk.Status {
	return countUses(state, added, +1)
}

// RemovePod implements fwk.PreFilterExtensions.
func (pl *plugin) RemovePod(_ context.Context, state fwk.CycleState, _ *v1.Pod, removed fwk.PodInfo, _ fwk.NodeInfo) *fwk.Status {
	return countUses(state, removed, -1)
}

func countUses(state fwk.CycleState, other fwk.PodInfo, sign int) *fwk.Status {
	claims, err := statedata.Read[*exclusiveClaims](state, preFilterKey)
	if err != nil {
		return fwk.AsStatus(err)
	}
	claims.uses += sign * claims.usesOf(other.GetPod())
	return nil
}

// Filter implements fwk.FilterPlugin.
func (pl *plugin) Filter(_ context.Context, state fwk.CycleState, pod *v1.Pod, nodeInfo fwk.NodeInfo) *fwk.Status {
	if hasRestrictedDisk(pod) {
		for _, other := range framework.View(nodeInfo).Pods() {
			if disksConflict(pod.Spec.Volumes, framework.ViewPod(other).Volumes()) {
				return fwk.NewStatus(fwk.Unschedulable, reasonDiskConflict)
			}
		}
	}
	claims, err := statedata.Read[*exclusiveClaims](state, preFilterKey)
	if err != nil {
		return fwk.AsStatus(err)
	}
	if claims.uses > 0 {
		return fwk.NewStatus(fwk.Unschedulable, ReasonClaimInUse)
	}
	return nil
}
