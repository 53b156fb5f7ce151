// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package volumezone

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	storagevolume "k8s.io/component-helpers/storage/volume"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugins/internal/podvolumes"
	"github.com/rouse-scheduler/rouse/plugins/internal/statedata"
)

const preFilterKey fwk.StateKey = "PreFilter" + Name

// podPlaces are the places of all volumes of the pod being scheduled.
type podPlaces struct{ places []place }

// Clone implements fwk.StateData; the places never change and are shared.
func (p *podPlaces) Clone() fwk.StateData { return p }

// PreFilter implements fwk.PreFilterPlugin. It skips a pod if no label says where its volumes are.
func (pl *plugin) PreFilter(_ context.Context, state fwk.CycleState, pod *v1.Pod, _ []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	places, status := pl.placesOfPod(pod)
	if !status.IsSuccess() {
		return nil, status
	}
	if len(places) == 0 {
		return nil, fwk.NewStatus(fwk.Skip)
	}
	state.Write(preFilterKey, &podPlaces{places: places})
	return nil, nil
}

// PreFilterExtensions implements fwk.PreFilterPlugin. There are none: other pods don't matter.
func (pl *plugin) PreFilterExtensions() fwk.PreFilterExtensions { return nil }

// Filter implements fwk.FilterPlugin. A node that does not say where it is takes every pod. It works without PreFilter
// too, at the price of looking the volumes up every time.
func (pl *plugin) Filter(_ context.Context, state fwk.CycleState, pod *v1.Pod, nodeInfo fwk.NodeInfo) *fwk.Status {
	if len(pod.Spec.Volumes) == 0 {
		return nil
	}
	ofPod, err := statedata.Read[*podPlaces](state, preFilterKey)
	if err != nil {
		places, status := pl.placesOfPod(pod)
		if !status.IsSuccess() {
			return status
		}
		ofPod = &podPlaces{places: places}
	}
	nodeLabels := nodeInfo.Node().Labels
	if !isPlaced(nodeLabels) {
		return nil
	}
	for i := range ofPod.places {
		if !ofPod.places[i].includes(nodeLabels) {
			return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, reasonZone)
		}
	}
	return nil
}

// placesOfPod returns where the volumes of the claims are that the pod names, in the order in which it does.
func (pl *plugin) placesOfPod(pod *v1.Pod) ([]place, *fwk.Status) {
	var places []place
	for i := range pod.Spec.Volumes {
		named := pod.Spec.Volumes[i].PersistentVolumeClaim
		if named == nil {
			continue
		}
		volume, status := pl.volumeOf(pod.Namespace, named.ClaimName)
		if !status.IsSuccess() {
			return nil, status
		}
		if volume != nil {
			places = append(places, placesOf(volume)...)
		}
	}
	return places, nil
}

// volumeOf returns the volume of a claim, nil if it is chosen only when the pod has a node, and otherwise why there is
// none.
func (pl *plugin) volumeOf(namespace, claimName string) (*v1.PersistentVolume, *fwk.Status) {
	if claimName == "" {
		return nil, unresolvable("PersistentVolumeClaim had no name")
	}
	claim, err := pl.claims.PersistentVolumeClaims(namespace).Get(claimName)
	if err != nil {
		return nil, podvolumes.LookupStatus(err)
	}
	if claim.Spec.VolumeName == "" {
		return nil, pl.unbound(claim)
	}
	volume, err := pl.volumes.Get(claim.Spec.VolumeName)
	if err != nil {
		return nil, podvolumes.LookupStatus(err)
	}
	return volume, nil
}

// unbound is the verdict on a claim without a volume: it is fine if the volume is chosen only when the pod has a node.
func (pl *plugin) unbound(claim *v1.PersistentVolumeClaim) *fwk.Status {
	name := storagevolume.GetPersistentVolumeClaimClass(claim)
	if name == "" {
		return unresolvable("PersistentVolumeClaim had no pv name and storageClass name")
	}
	class, err := pl.classes.Get(name)
	switch {
	case err != nil:
		return podvolumes.LookupStatus(err)
	case class.VolumeBindingMode == nil:
		return unresolvable(fmt.Sprintf("VolumeBindingMode not set for StorageClass %q", name))
	case *class.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer:
		return nil
	}
	return unresolvable("PersistentVolume had no name")
}

func unresolvable(reason string) *fwk.Status {
	return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, reason)
}
