// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package dynamicresources

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// SignPod implements fwk.SignPlugin. Pods with claims have no signature.
func (pl *plugin) SignPod(_ context.Context, pod *v1.Pod) ([]fwk.SignFragment, *fwk.Status) {
	if len(pod.Spec.ResourceClaims) > 0 {
		return nil, fwk.NewStatus(fwk.Unschedulable, "pods with dra resource claims are not signable")
	}
	return nil, nil
}

// HintClass implements framework.HintClassPlugin: pods are alike if they are in the same namespace, name the same claims,
// and both ask for extended resources or don't. Those for which a claim is still to be made wait for that, wherever they
// are. Those with claims of their own, made from templates, are like no other; see podsOfClaimChange.
func (pl *plugin) HintClass(pod *v1.Pod) (class string, ok bool) {
	extended := mentionsExtended(pod)
	if len(pod.Spec.ResourceClaims) == 0 {
		if extended {
			return "extended", true
		}
		return "", true
	}
	key := framework.AppendKeyString(framework.AppendKeyInt(nil, 0), pod.Namespace)
	if extended {
		key = framework.AppendKeyString(framework.AppendKeyInt(nil, 1), pod.Namespace)
	}
	own := false
	for i := range pod.Spec.ResourceClaims {
		name, mustCheckOwner, err := resourceclaim.Name(pod, &pod.Spec.ResourceClaims[i])
		switch {
		case err != nil && extended:
			return "extended, not made", true
		case err != nil:
			return "not made", true
		case mustCheckOwner:
			own = true
		default:
			key = framework.AppendKeyString(key, *name)
		}
	}
	return string(key), !own
}
