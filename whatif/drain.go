// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package whatif

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
)

// withoutReservations returns the objects without what claims of devices have reserved for pods that are gone. As its controller does,
// a claim that is reserved for no pod any more gives its devices back.
func (k *kinds) withoutReservations(all objects, gone []*v1.Pod) objects {
	uids, claims := sets.New[types.UID](), sets.New[key]()
	for _, pod := range gone {
		uids.Insert(pod.UID)
		for i := range pod.Spec.ResourceClaims {
			if name, _, err := resourceclaim.Name(pod, &pod.Spec.ResourceClaims[i]); err == nil && name != nil {
				claims.Insert(key{kind: k.claims, namespace: pod.Namespace, name: *name})
			}
		}
		if extended := pod.Status.ExtendedResourceClaimStatus; extended != nil { // the claim goes with its pod
			all = all.without(key{kind: k.claims, namespace: pod.Namespace, name: extended.ResourceClaimName})
		}
	}
	for at := range claims {
		found, _ := all.Get(at)
		claim, isClaim := found.(*resourceapi.ResourceClaim)
		if !isClaim {
			continue
		}
		left := slices.DeleteFunc(slices.Clone(claim.Status.ReservedFor), func(consumer resourceapi.ResourceClaimConsumerReference) bool {
			return consumer.APIGroup == "" && consumer.Resource == "pods" && uids.Has(consumer.UID)
		})
		if len(left) == len(claim.Status.ReservedFor) {
			continue
		}
		released := *claim
		if released.Status.ReservedFor = left; len(left) == 0 {
			released.Status.ReservedFor, released.Status.Allocation = nil, nil
		}
		all = all.with(at, &released)
	}
	return all
}
