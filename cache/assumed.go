// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"cmp"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
)

// AssumePod counts a pod on the node that its spec names, before the API server knows about it. It is an error if the
// pod has no UID or no node name, or is in the cache already.
func (c *Cache) AssumePod(pod *v1.Pod) error {
	if err := checkAssigned(pod); err != nil {
		return fmt.Errorf("assuming a pod in the scheduler cache: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.pods[pod.UID]; ok {
		return fmt.Errorf("pod %v(%v) is in the cache, so can't be assumed", pod.UID, klog.KObj(pod))
	}
	c.place(pod, nil)
	c.assumed[pod.UID] = c.clock.Now()
	return nil
}

// ForgetPod takes back an assumption, because the pod will not be bound after all. A pod that is not in the cache is
// no error. It is an error, and nothing changes, if the pod was assumed on another node than the given one names, or
// has been confirmed.
func (c *Cache) ForgetPod(pod *v1.Pod) error {
	return c.dropAssumed(pod)
}

// RemoveAssumedPod removes a pod that was deleted while it was assumed. It differs from [Cache.ForgetPod] in what it
// says about the pod: it will not be scheduled again. Errors are the same.
func (c *Cache) RemoveAssumedPod(pod *v1.Pod) error {
	return c.dropAssumed(pod)
}

func (c *Cache) dropAssumed(pod *v1.Pod) error {
	if err := checkKey(pod); err != nil {
		return fmt.Errorf("taking back an assumed pod: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	state, ok := c.pods[pod.UID]
	if !ok {
		return nil
	}
	if state.node.name != pod.Spec.NodeName {
		return fmt.Errorf("pod %v(%v) was assumed on %v but assigned to %v", pod.UID, klog.KObj(pod), pod.Spec.NodeName, state.node.name)
	}
	if !c.assumes(pod.UID) {
		return fmt.Errorf("pod %v(%v) is not assumed, so it cannot be removed or forgotten", pod.UID, klog.KObj(pod))
	}
	c.drop(pod.UID)
	return nil
}

// IsAssumed reports whether a pod, which need only have the UID right, is assumed. It is an error if it has no UID.
func (c *Cache) IsAssumed(pod *v1.Pod) (bool, error) {
	if err := checkKey(pod); err != nil {
		return false, fmt.Errorf("asking whether a pod is assumed: %w", err)
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.assumes(pod.UID), nil
}

// ExpireAssumed drops the pods that have been assumed for Options.AssumedPodTTL or longer and returns them, the
// longest assumed first. With a TTL of zero it does nothing. The cost follows the number of assumed pods.
func (c *Cache) ExpireAssumed() []*v1.Pod {
	if c.ttl <= 0 {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.clock.Now()
	var expired []types.UID
	for uid, at := range c.assumed {
		if now.Sub(at) >= c.ttl {
			expired = append(expired, uid)
		}
	}
	slices.SortFunc(expired, func(a, b types.UID) int {
		return cmp.Or(c.assumed[a].Compare(c.assumed[b]), cmp.Compare(a, b))
	})
	var pods []*v1.Pod
	for _, uid := range expired {
		pods = append(pods, c.pods[uid].info.GetPod())
		c.drop(uid)
	}
	return pods
}
