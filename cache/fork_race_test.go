// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"fmt"
	"sync"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/rouse-scheduler/rouse/cache"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// TestForksOfAForkAreIndependent is for the race detector: forks of one changed fork are made, changed and read by
// goroutines of their own.
func TestForksOfAForkAreIndependent(t *testing.T) {
	pod := func(name string) *v1.Pod { return objects.Pod(name).Node("n").Build() }
	node := objects.Node("n").Build()
	parent := cache.NewSnapshot([]*v1.Pod{pod("a")}, []*v1.Node{node}).Fork()
	if err := parent.AddPod(pod("b")); err != nil { // its node info is not frozen
		t.Fatal(err)
	}
	var owners sync.WaitGroup
	for i := range 8 {
		owners.Go(func() {
			fork := parent.Fork()
			for _, err := range []error{fork.AddPod(pod(fmt.Sprint("own", i))), fork.RemovePod(pod("a"))} {
				if err != nil {
					t.Error(err)
				}
			}
			for what, lister := range map[string]interface{ Pods() int }{"fork": counted{fork, t}, "parent": counted{parent, t}} {
				if lister.Pods() != 2 {
					t.Errorf("%s: %d pods, want 2", what, lister.Pods())
				}
			}
		})
	}
	owners.Wait()
}

type counted struct {
	*cache.Fork
	t *testing.T
}

// Pods counts the pods of all nodes.
func (c counted) Pods() int {
	nodes, err := c.List()
	if err != nil {
		c.t.Error(err)
	}
	pods := 0
	for _, node := range nodes {
		pods += len(node.GetPods())
	}
	return pods
}
