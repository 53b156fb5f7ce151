// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package dynamicresources

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
	fwk "k8s.io/kube-scheduler/framework"
)

// PreEnqueue implements fwk.PreEnqueuePlugin: a pod is held back until its claims exist.
func (pl *plugin) PreEnqueue(_ context.Context, pod *v1.Pod) *fwk.Status {
	if err := pl.eachClaim(pod, nil); err != nil {
		return rejected(err.Error())
	}
	return nil
}

// eachClaim visits the claims that the spec of a pod names, in order, unless visit is nil. It fails if one of them is not
// there, not for the pod, or being deleted.
func (pl *plugin) eachClaim(pod *v1.Pod, visit func(index int, claim *resourceapi.ResourceClaim)) error {
	for i := range pod.Spec.ResourceClaims {
		name, mustCheckOwner, err := resourceclaim.Name(pod, &pod.Spec.ResourceClaims[i])
		if err != nil {
			return err
		}
		if name == nil {
			continue // no claim is needed
		}
		if pl.claims == nil {
			return errNoManager(pod)
		}
		claim, err := pl.claims.Get(pod.Namespace, *name)
		if err != nil {
			return err
		}
		if claim.DeletionTimestamp != nil {
			return fmt.Errorf("resourceclaim %q is being deleted", claim.Name)
		}
		if mustCheckOwner {
			if err := resourceclaim.IsForPod(pod, claim, false); err != nil {
				return err
			}
		}
		if visit != nil {
			visit(i, claim)
		}
	}
	return nil
}
