// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package volumebinding

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/component-helpers/storage/ephemeral"
	storagevolume "k8s.io/component-helpers/storage/volume"

	"github.com/rouse-scheduler/rouse/plugins/internal/podvolumes"
)

// hasClaims reports whether the pod has any, and fails if one of them is not fit for use.
func (pl *plugin) hasClaims(pod *v1.Pod) (bool, error) {
	found := false
	for i := range pod.Spec.Volumes {
		volume := &pod.Spec.Volumes[i]
		name, ok := podvolumes.ClaimName(pod, volume)
		if !ok {
			continue
		}
		found = true
		if err := pl.checkClaim(pod, volume, name); err != nil {
			return found, err
		}
	}
	return found, nil
}

func (pl *plugin) checkClaim(pod *v1.Pod, volume *v1.Volume, name string) error {
	claim, err := pl.claimLister.PersistentVolumeClaims(pod.Namespace).Get(name)
	switch {
	case apierrors.IsNotFound(err) && volume.Ephemeral != nil:
		return fmt.Errorf("waiting for ephemeral volume controller to create the persistentvolumeclaim %q", name)
	case err != nil:
		return err
	case claim.Status.Phase == v1.ClaimLost:
		return fmt.Errorf("persistentvolumeclaim %q bound to non-existent persistentvolume %q", name, claim.Spec.VolumeName)
	case claim.DeletionTimestamp != nil:
		return fmt.Errorf("persistentvolumeclaim %q is being deleted", name)
	case volume.Ephemeral != nil:
		return ephemeral.VolumeIsForPod(pod, claim)
	}
	return nil
}

// sortedClaims are the claims of a pod by what is to be done with them. A claim that several volumes name is there once.
type sortedClaims struct {
	// bound claims have a volume.
	bound []*v1.PersistentVolumeClaim
	// delayed claims are bound when the pod has a node.
	delayed []*v1.PersistentVolumeClaim
	// immediate claims should have been bound by the PV controller.
	immediate []*v1.PersistentVolumeClaim
}

// sortClaims sorts the claims of a pod as they will be after the pods that are being bound.
func (pl *plugin) sortClaims(pod *v1.Pod) (*sortedClaims, error) {
	sorted, seen := &sortedClaims{}, sets.New[string]()
	for i := range pod.Spec.Volumes {
		name, ok := podvolumes.ClaimName(pod, &pod.Spec.Volumes[i])
		if !ok || seen.Has(name) {
			continue
		}
		seen.Insert(name)
		claim, err := pl.claims.Get(pod.Namespace + "/" + name)
		if err != nil {
			return nil, fmt.Errorf("error getting PVC %q: %w", pod.Namespace+"/"+name, err)
		}
		if isBound(claim) {
			sorted.bound = append(sorted.bound, claim)
			continue
		}
		delay, err := storagevolume.IsDelayBindingMode(claim, pl.classes)
		switch {
		case err != nil:
			return nil, err
		case delay && claim.Spec.VolumeName == "":
			sorted.delayed = append(sorted.delayed, claim)
		default:
			sorted.immediate = append(sorted.immediate, claim)
		}
	}
	return sorted, nil
}

// isBound reports whether a claim has a volume and the PV controller is done with it.
func isBound(claim *v1.PersistentVolumeClaim) bool {
	return claim.Spec.VolumeName != "" && metav1.HasAnnotation(claim.ObjectMeta, storagevolume.AnnBindCompleted)
}

// claimKey is how caches and messages name a claim.
func claimKey(claim *v1.PersistentVolumeClaim) string { return claim.Namespace + "/" + claim.Name }
