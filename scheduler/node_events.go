// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	v1 "k8s.io/api/core/v1"
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// The cache is changed before the event is announced, so that a pod that wakes finds the cluster that woke it. A
// deleted node is the exception: it is announced first, while its pods still count.

func (s *Scheduler) nodeAdded(node *v1.Node) {
	event := fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add}
	defer s.startTimer(event)()
	if err := s.cache.AddNode(node); err != nil {
		s.options.Logger.Error(err, "Scheduler cache AddNode failed", "node", klog.KObj(node))
	}
	s.queue.Move(event, nil, node, nil)
}

func (s *Scheduler) nodeUpdated(oldNode, newNode *v1.Node) {
	started := s.clock.Now()
	if err := s.cache.UpdateNode(newNode); err != nil {
		s.options.Logger.Error(err, "Scheduler cache UpdateNode failed", "node", klog.KObj(newNode))
	}
	caching := s.clock.Since(started)
	for _, event := range framework.NodeEvents(oldNode, newNode) {
		started = s.clock.Now()
		s.queue.Move(event, oldNode, newNode, nil)
		s.options.Observers.Scheduler.EventHandled(event, caching+s.clock.Since(started))
	}
}

func (s *Scheduler) nodeDeleted(object any) {
	if tombstone, ok := object.(clientcache.DeletedFinalStateUnknown); ok {
		object = tombstone.Obj
	}
	node, ok := object.(*v1.Node)
	if !ok {
		s.options.Logger.Error(nil, "Cannot convert the deleted object to a node", "object", object)
		return
	}
	event := fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Delete}
	defer s.startTimer(event)()
	s.queue.Move(event, node, nil, nil)
	if err := s.cache.RemoveNode(node); err != nil {
		s.options.Logger.Error(err, "Scheduler cache RemoveNode failed", "node", klog.KObj(node))
	}
}
