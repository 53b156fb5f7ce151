// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"fmt"
	"runtime"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// TestMemoryOfPodsAndNodes measures what a cache and a snapshot of it take in addition to the objects of the API.
func TestMemoryOfPodsAndNodes(t *testing.T) {
	const nodeCount, podCount = 1_000, 12_000
	var nodes []*v1.Node
	for i := range nodeCount {
		nodes = append(nodes, objects.Node(fmt.Sprint("node-", i)).Build())
	}
	var pods []*v1.Pod
	for i := range podCount {
		pods = append(pods, objects.Pod(fmt.Sprint("pod-", i)).Node(nodes[i%nodeCount].Name).Build())
	}

	before := heapInUse()
	c := New(Options{})
	var s Snapshot
	for _, node := range nodes {
		must(t, c.AddNode(node))
	}
	empty := heapInUse()
	for _, pod := range pods {
		must(t, c.AddPod(pod))
	}
	full := heapInUse()
	update(t, c, &s)
	shown := heapInUse()

	for _, part := range []struct {
		what        string
		bytes, most int64
	}{
		{"a node in the cache", (empty - before) / nodeCount, 560},
		{"a pod in the cache", (full - empty) / podCount, 105},
		{"a node in a snapshot", (shown - full) / nodeCount, 220},
	} {
		if part.bytes > part.most {
			t.Errorf("%s takes %d bytes, want %d at most", part.what, part.bytes, part.most)
		}
	}
	runtime.KeepAlive([]any{nodes, pods, c, &s})
}

// heapInUse returns how many bytes are in use after garbage collection.
func heapInUse() int64 {
	var memory runtime.MemStats
	for range 2 { // what finalizers and pools hold goes later
		runtime.GC()
	}
	runtime.ReadMemStats(&memory)
	return int64(memory.HeapAlloc)
}
