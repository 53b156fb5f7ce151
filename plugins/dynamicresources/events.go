// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package dynamicresources

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// EventsToRegister implements fwk.EnqueueExtensions.
func (pl *plugin) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return []fwk.ClusterEventWithHint{
		// The allocatable resources of a node decide whether an extended resource is served by devices there.
		{Event: fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add | fwk.UpdateNodeLabel | fwk.UpdateNodeAllocatable}},
		{
			Event:             fwk.ClusterEvent{Resource: fwk.ResourceClaim, ActionType: fwk.Add | fwk.Update | fwk.Delete},
			QueueingHintFn:    pl.afterClaimChange,
			PreQueueingHintFn: pl.podsOfClaimChange,
		},
		{
			Event:          fwk.ClusterEvent{Resource: fwk.TargetPod, ActionType: fwk.UpdatePodGeneratedResourceClaim},
			QueueingHintFn: framework.HintFor(pl.afterPodChange),
		},
		{Event: fwk.ClusterEvent{Resource: fwk.DeviceClass, ActionType: fwk.Add | fwk.Update}},
		{Event: fwk.ClusterEvent{Resource: fwk.ResourceSlice, ActionType: fwk.Add | fwk.Update}},
		// Who asks for all devices has to wait while a pool is incomplete, and no longer when it is gone.
		{Event: fwk.ClusterEvent{Resource: fwk.ResourceSlice, ActionType: fwk.Delete}},
	}, nil
}

// afterPodChange wakes the pod if all its claims are there now.
func (pl *plugin) afterPodChange(_ klog.Logger, _ *v1.Pod, _, pod *v1.Pod) (fwk.QueueingHint, error) {
	if pod == nil || pl.eachClaim(pod, nil) != nil {
		return fwk.QueueSkip, nil
	}
	return fwk.Queue, nil
}

// isForExtended reports whether a claim was made for extended resources. Such a claim that is left from an earlier attempt
// keeps its pod from being scheduled until it is deleted, with devices or without.
func isForExtended(claim *resourceapi.ResourceClaim) bool {
	return claim.Annotations[resourceapi.ExtendedResourceClaimAnnotation] == "true"
}

// afterClaimChange wakes the pod if a claim gave devices back, whosever it was, or if one of its own is new or has another
// status. A pod of which a claim is missing is not woken by others.
func (pl *plugin) afterClaimChange(_ klog.Logger, pod *v1.Pod, oldObj, newObj any) (fwk.QueueingHint, error) {
	if _, unknown := oldObj.(clientcache.DeletedFinalStateUnknown); unknown {
		return fwk.Queue, nil
	}
	old, current, err := framework.HintObjects[resourceapi.ResourceClaim](oldObj, newObj)
	if err != nil {
		return fwk.Queue, err
	}
	if current == nil {
		if old == nil || old.Status.Allocation != nil || isForExtended(old) && mentionsExtended(pod) {
			return fwk.Queue, nil
		}
		return fwk.QueueSkip, nil
	}
	deallocated := old != nil && old.Status.Allocation != nil && current.Status.Allocation == nil
	if !deallocated && !names(pod, current) {
		return fwk.QueueSkip, nil // as most changes are those of other pods' claims, without looking up those of this one
	}
	own := false
	if err := pl.eachClaim(pod, func(_ int, claim *resourceapi.ResourceClaim) { own = own || claim.UID == current.UID }); err != nil {
		return fwk.QueueSkip, nil
	}
	switch {
	case deallocated:
		return fwk.Queue, nil
	case !own:
		return fwk.QueueSkip, nil
	case old == nil || !equality.Semantic.DeepEqual(&old.Status, &current.Status):
		return fwk.Queue, nil
	}
	return fwk.QueueSkip, nil
}

// podsOfClaimChange narrows a change of a claim to the pods that name it, unless devices may be free now.
func (pl *plugin) podsOfClaimChange(_ klog.Logger, oldObj, newObj any) (fwk.PreQueueingHintResult, error) {
	all := fwk.PreQueueingHintResult{AllPods: true}
	old, current, err := framework.HintObjects[resourceapi.ResourceClaim](oldObj, newObj)
	_, unknown := oldObj.(clientcache.DeletedFinalStateUnknown)
	if err != nil || unknown || pl.pods == nil {
		return all, err
	}
	if old != nil && (current == nil || current.Status.Allocation == nil) && (old.Status.Allocation != nil || isForExtended(old)) {
		return all, nil
	}
	claim := current
	if claim == nil {
		claim = old
	}
	if claim == nil {
		return all, nil
	}
	waiting, err := pl.pods.ByIndex(byClaim, describe(claim))
	if err != nil {
		return all, fmt.Errorf("looking for the pods of resource claim %s: %w", describe(claim), err)
	}
	var result fwk.PreQueueingHintResult
	for _, object := range waiting {
		if pod, ok := object.(*v1.Pod); ok {
			result.Pods = append(result.Pods, types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name})
		}
	}
	return result, nil
}

// byClaim is the index of the pods that have no node yet by the claims that they name, as namespace/name.
const byClaim = Name + "/waitingPodsByClaim"

// indexPods adds the index to an informer of pods, unless another profile did already.
func indexPods(informer clientcache.SharedIndexInformer) (clientcache.Indexer, error) {
	indexer := informer.GetIndexer()
	if _, found := indexer.GetIndexers()[byClaim]; found {
		return indexer, nil
	}
	err := informer.AddIndexers(clientcache.Indexers{byClaim: func(object any) ([]string, error) {
		pod, ok := object.(*v1.Pod)
		if !ok || pod.Spec.NodeName != "" {
			return nil, nil
		}
		var keys []string
		for i := range pod.Spec.ResourceClaims {
			if name, _, err := resourceclaim.Name(pod, &pod.Spec.ResourceClaims[i]); err == nil && name != nil {
				keys = append(keys, pod.Namespace+"/"+*name)
			}
		}
		return keys, nil
	}})
	if err != nil {
		return nil, fmt.Errorf("indexing pods by their resource claims: %w", err)
	}
	return indexer, nil
}

// names reports whether a pod uses a claim of this name.
func names(pod *v1.Pod, claim *resourceapi.ResourceClaim) bool {
	return pod.Namespace == claim.Namespace && slices.ContainsFunc(pod.Spec.ResourceClaims, func(c v1.PodResourceClaim) bool {
		name, _, err := resourceclaim.Name(pod, &c)
		return err == nil && name != nil && *name == claim.Name
	})
}
