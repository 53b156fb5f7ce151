// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/rouse-scheduler/rouse/framework"
)

// Options are the settings of a [Cache]. The zero value is the default.
type Options struct {
	// AssumedPodTTL is how long a pod may stay assumed before [Cache.ExpireAssumed] drops it. Zero, the default, means
	// forever. It counts from the assumption, so it must be longer than waiting on Permit and binding can take: a pod
	// that expires while it is being bound makes its node look emptier than it is.
	AssumedPodTTL time.Duration
	// Clock is read when a pod is assumed and when assumed pods are expired; nil means the real clock.
	Clock clock.PassiveClock
	// Logger receives what is odd but harmless, such as a pod that was bound to another node than it was assumed on.
	// The zero value logs nothing.
	Logger klog.Logger
	// CurrentImages has the node infos of snapshots always show how many nodes have an image now. By default they show, as in
	// kube-scheduler, how many did when the node was last updated, which depends on more than what is in the cache. Snapshots
	// must then not be read while the cache is being changed.
	CurrentImages bool
	// RefusedChange, unless it is nil, is called, concurrently, when a plugin tries to change a node info of a snapshot,
	// which all users of the snapshot share: with the method of fwk.NodeInfo and the name of the node.
	RefusedChange func(method, node string)
}

// Cache is the cluster as the scheduler sees it. Make one with [New]. It is safe for concurrent use.
type Cache struct {
	ttl         time.Duration
	clock       clock.PassiveClock
	logger      klog.Logger
	generations framework.Generations

	// mu guards every field below and everything that can be reached from them, except the API objects, which no one
	// changes. Methods that change something hold it exclusively.
	mu sync.RWMutex
	// pods holds every known pod, assumed those of them that are assumed, with the time since when.
	pods    map[types.UID]*podState
	assumed map[types.UID]time.Time
	// nodes holds an entry for every node that is live or has pods.
	nodes   map[string]*nodeEntry
	indexes nodeIndexes
	zones   zoneOrder
	images  imageStates
}

// New returns an empty cache.
func New(options Options) *Cache {
	c := &Cache{
		ttl:     options.AssumedPodTTL,
		clock:   options.Clock,
		logger:  options.Logger,
		pods:    map[types.UID]*podState{},
		assumed: map[types.UID]time.Time{},
		nodes:   map[string]*nodeEntry{},
		images:  imageStates{current: options.CurrentImages},
	}
	c.generations.OnRefusedChange(options.RefusedChange)
	if c.clock == nil {
		c.clock = clock.RealClock{}
	}
	return c
}

// Counts is how much a [Cache] holds.
type Counts struct {
	// Nodes includes entries without a node object: nodes that are gone but for their pods, and nodes that have not
	// been seen yet though pods on them have.
	Nodes int `json:"nodes"`
	// Pods includes assumed pods.
	Pods int `json:"pods"`
	// AssumedPods are the pods that the API server has not confirmed.
	AssumedPods int `json:"assumedPods"`
}

// Counts returns how much the cache holds, in constant time.
func (c *Cache) Counts() Counts {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.counts()
}

func (c *Cache) counts() Counts {
	return Counts{Nodes: len(c.nodes), Pods: len(c.pods), AssumedPods: len(c.assumed)}
}
