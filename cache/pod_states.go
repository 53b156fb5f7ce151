// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/rouse-scheduler/rouse/framework"
)

// podState is a pod that counts on a node. The node has the info that is in it, so that each pod is one object.
type podState struct {
	info framework.PodInfo
	node *nodeEntry
}

// AddPod takes a pod that the API server shows on a node. A pod that was assumed is confirmed by it, and moved if it
// is on another node than it was assumed on; the node need not be known yet. It is an error if the pod has no UID or
// no node name, or was added before.
func (c *Cache) AddPod(pod *v1.Pod) error { return c.add(pod, nil) }

// AddCompactPod is [Cache.AddPod] with a pod that stays compact in the cache.
func (c *Cache) AddCompactPod(pod *framework.CompactPod) error { return c.add(pod.Pod(), pod) }

// add adds a pod; compact is that pod, or nil.
func (c *Cache) add(pod *v1.Pod, compact *framework.CompactPod) error {
	if err := checkAssigned(pod); err != nil {
		return fmt.Errorf("adding a pod to the scheduler cache: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if state, ok := c.pods[pod.UID]; ok {
		if !c.assumes(pod.UID) {
			return fmt.Errorf("pod %v(%v) was already in added state", pod.UID, klog.KObj(pod))
		}
		if state.node.name != pod.Spec.NodeName {
			c.logger.Info("Pod was added to a different node than it was assumed", "podKey", pod.UID,
				"pod", klog.KObj(pod), "assumedNode", klog.KRef("", state.node.name),
				"currentNode", klog.KRef("", pod.Spec.NodeName))
		}
		c.drop(pod.UID)
	}
	c.place(pod, compact)
	return nil
}

// UpdatePod replaces an added pod by a newer version. The two may have different UIDs, when a pod was deleted and
// another one with its name created: then the first is removed and the second added. It is an error if the old pod is
// not in the cache or only assumed. If the pod is on another node than the cache believes, the cache follows newPod
// and returns a [*CorruptedError].
func (c *Cache) UpdatePod(oldPod, newPod *v1.Pod) error { return c.update(oldPod, newPod, nil) }

// UpdateCompactPod is [Cache.UpdatePod] with a newer version that stays compact in the cache.
func (c *Cache) UpdateCompactPod(oldPod *v1.Pod, newPod *framework.CompactPod) error {
	return c.update(oldPod, newPod.Pod(), newPod)
}

// update replaces a pod by a newer version; compact is that version, or nil.
func (c *Cache) update(oldPod, newPod *v1.Pod, compact *framework.CompactPod) error {
	if err := errors.Join(checkKey(oldPod), checkKey(newPod)); err != nil {
		return fmt.Errorf("updating a pod in the scheduler cache: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	state, ok := c.pods[oldPod.UID]
	if !ok {
		return fmt.Errorf("pod %v(%v) is not added to scheduler cache, so cannot be updated", oldPod.UID, klog.KObj(oldPod))
	}
	if c.assumes(oldPod.UID) {
		return fmt.Errorf("assumed pod %v(%v) should not be updated", oldPod.UID, klog.KObj(oldPod))
	}
	var corrupted error
	if oldPod.UID == newPod.UID {
		corrupted = nodeContradiction("updated", state, newPod)
	}
	c.drop(oldPod.UID)
	if _, ok := c.pods[newPod.UID]; ok {
		c.drop(newPod.UID)
	}
	if newPod.Spec.NodeName != "" {
		c.place(newPod, compact)
	}
	return corrupted
}

// RemovePod removes a pod, assumed or not, as it is in the cache; pod itself may be an outdated version. It is an error
// if the pod is not in the cache. If the pod is on another node than the cache believes, it is removed all the same and
// a [*CorruptedError] returned. A pod without a node name is no contradiction: it may be the last state seen before
// events were missed.
func (c *Cache) RemovePod(pod *v1.Pod) error {
	if err := checkKey(pod); err != nil {
		return fmt.Errorf("removing a pod from the scheduler cache: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	state, ok := c.pods[pod.UID]
	if !ok {
		return fmt.Errorf("pod %v(%v) is not found in scheduler cache, so cannot be removed from it", pod.UID, klog.KObj(pod))
	}
	var corrupted error
	if pod.Spec.NodeName == "" {
		c.logger.Info("Pod is removed with a state from before it had a node", "podKey", pod.UID,
			"pod", klog.KObj(pod), "node", klog.KRef("", state.node.name))
	} else {
		corrupted = nodeContradiction("removed", state, pod)
	}
	c.drop(pod.UID)
	return corrupted
}

// Pod returns the cache's version of a pod, which need only have the UID right. It is an error if the pod is not in
// the cache.
func (c *Cache) Pod(pod *v1.Pod) (*v1.Pod, error) {
	if err := checkKey(pod); err != nil {
		return nil, fmt.Errorf("looking up a pod in the scheduler cache: %w", err)
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	state, ok := c.pods[pod.UID]
	if !ok {
		return nil, fmt.Errorf("pod %v(%v) does not exist in scheduler cache", pod.UID, klog.KObj(pod))
	}
	return state.info.GetPod(), nil
}

// assumes reports whether a pod is assumed.
func (c *Cache) assumes(uid types.UID) bool {
	_, is := c.assumed[uid]
	return is
}

// place puts a pod that is not in the cache on the node it names, which may be unknown. The cache keeps it compact, if it is.
func (c *Cache) place(pod *v1.Pod, compact *framework.CompactPod) {
	state := &podState{node: c.entry(pod.Spec.NodeName)}
	update := func() error { return state.info.Update(pod) }
	if compact != nil {
		update = func() error { return state.info.UpdateCompact(compact) }
	}
	if err := update(); err != nil {
		c.logger.Error(err, "Inter-pod affinity terms that do not parse are ignored", "pod", klog.KObj(pod))
	}
	state.node.writable().AddPodInfo(&state.info)
	c.indexes.recordChange(state.node)
	c.pods[pod.UID] = state
}

// drop takes a pod out of the cache, by the UID that it came with.
func (c *Cache) drop(uid types.UID) {
	state := c.pods[uid]
	pod := state.info.GetPod()
	delete(c.pods, uid)
	delete(c.assumed, uid)
	if err := state.node.writable().RemovePod(c.logger, pod); err != nil {
		c.logger.Error(err, "Pod was not on the node that it was placed on", "pod", klog.KObj(pod), "node", klog.KRef("", state.node.name))
		return
	}
	c.indexes.recordChange(state.node)
	c.dropIfUnused(state.node)
}

func checkKey(pod *v1.Pod) error {
	if pod == nil {
		return errors.New("cannot get cache key for nil pod")
	}
	if pod.UID == "" {
		return errors.New("cannot get cache key for pod with empty UID")
	}
	return nil
}

func checkAssigned(pod *v1.Pod) error {
	if err := checkKey(pod); err != nil {
		return err
	}
	if pod.Spec.NodeName == "" {
		return fmt.Errorf("pod %v(%v) has no node name", pod.UID, klog.KObj(pod))
	}
	return nil
}
