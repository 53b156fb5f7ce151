// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package volumebinding

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	storagevolume "k8s.io/component-helpers/storage/volume"
	"k8s.io/klog/v2"
)

// bindingComplete reports whether the claims of a plan that was written are bound, as far as the informers show. It fails if it never
// will be.
func (pl *plugin) bindingComplete(logger klog.Logger, p *plan, pod *v1.Pod, nodeName string) (bool, error) {
	node, err := pl.nodes.Get(nodeName)
	if err != nil {
		return false, fmt.Errorf("looking up node %q: %w", nodeName, err)
	}
	if _, err := pl.pods.Pods(pod.Namespace).Get(pod.Name); err != nil {
		return false, fmt.Errorf("pod does not exist any more: %w", err)
	}
	for i := range p.bindings {
		if done, err := pl.bindingDone(logger, &p.bindings[i], node); !done || err != nil {
			return false, err
		}
	}
	for i := range p.provisions {
		if done, err := pl.provisionDone(logger, &p.provisions[i], node); !done || err != nil {
			return false, err
		}
	}
	return true, nil
}

// bindingDone looks after a claim and the existing volume that was chosen for it.
func (pl *plugin) bindingDone(logger klog.Logger, b *binding, node *v1.Node) (bool, error) {
	volume, err := pl.volumes.Stored(b.volume.Name)
	if err != nil {
		return false, fmt.Errorf("looking for the volume of claim %q: %w", claimKey(b.claim), err)
	}
	claim, err := pl.claims.Stored(claimKey(b.claim))
	if err != nil {
		return false, fmt.Errorf("looking for the claim of volume %q: %w", b.volume.Name, err)
	}
	if isOlder(volume, b.volume) {
		return false, nil
	}
	if err := pl.checkReachable(logger, volume, node); err != nil {
		return false, err
	}
	if volume.Spec.ClaimRef == nil || volume.Spec.ClaimRef.UID == "" {
		return false, fmt.Errorf("ClaimRef got reset for pv %q", volume.Name)
	}
	return isBound(claim), nil
}

// provisionDone looks after a claim for which a volume is being made.
func (pl *plugin) provisionDone(logger klog.Logger, made *provision, node *v1.Node) (bool, error) {
	key := claimKey(made.claim)
	claim, err := pl.claims.Stored(key)
	if err != nil {
		return false, fmt.Errorf("looking for claim %q: %w", key, err)
	}
	if isOlder(claim, made.claim) {
		return false, nil
	}
	if claim.Annotations == nil {
		return false, fmt.Errorf("selectedNode annotation reset for PVC %q", claim.Name)
	}
	if claim.Annotations[storagevolume.AnnSelectedNode] != node.Name {
		// The provisioner takes the annotation away, or another name is in it, if no volume can be made on the node.
		return false, fmt.Errorf("provisioning failed for PVC %q", claim.Name)
	}
	if claim.Spec.VolumeName != "" {
		volume, err := pl.volumes.Stored(claim.Spec.VolumeName)
		switch {
		case apierrors.IsNotFound(err):
			return false, nil // the informers don't keep step with each other
		case err != nil:
			return false, fmt.Errorf("looking for the volume of claim %q: %w", key, err)
		}
		if err := pl.checkReachable(logger, volume, node); err != nil {
			return false, err
		}
	}
	return isBound(claim), nil
}

// checkReachable fails if the volume can't be reached from the node that was chosen for its sake.
func (pl *plugin) checkReachable(logger klog.Logger, volume *v1.PersistentVolume, node *v1.Node) error {
	onNode, err := pl.asOnNode(logger, volume, node.Name)
	if err != nil {
		return err
	}
	if err := storagevolume.CheckNodeAffinity(onNode, node.Labels); err != nil {
		return fmt.Errorf("pv %q node affinity doesn't match node %q: %w", volume.Name, node.Name, err)
	}
	return nil
}

// isOlder reports whether an object is an older version of another. Versions that can't be compared are not.
func isOlder(object, than metav1.Object) bool {
	order, err := resourceversion.CompareResourceVersion(object.GetResourceVersion(), than.GetResourceVersion())
	return err == nil && order < 0
}
