// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"fmt"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// largeCache returns a cache with ten pods on each of its nodes, in three zones.
func largeCache(b *testing.B, size int) *Cache {
	b.Helper()
	c := New(Options{})
	check := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	for i := range size {
		name := fmt.Sprint("node-", i)
		check(c.AddNode(objects.Node(name).Label(v1.LabelTopologyZone, fmt.Sprint(i%3)).Allocatable("cpu", "32", "memory", "256Gi", "pods", "110").
			Image(1<<20, "app:v1", "app@sha256:1").Image(1<<21, "tool:v1").Build()))
		for j := range 10 {
			check(c.AddPod(objects.Pod(fmt.Sprintf("%s-%d", name, j)).Node(name).Requests("cpu", "100m", "memory", "128Mi").Build()))
		}
	}
	return c
}

// BenchmarkUpdateSnapshot changes some nodes by a pod each and updates the snapshot. Time and allocations per operation
// are those of both; update-ns/op is the update alone.
func BenchmarkUpdateSnapshot(b *testing.B) {
	for _, size := range []int{1_000, 10_000, 50_000} {
		var c *Cache
		for _, changed := range []int{1, 100} {
			b.Run(fmt.Sprintf("nodes=%d/changed=%d", size, changed), func(b *testing.B) {
				if c == nil {
					c = largeCache(b, size)
				}
				pods := make([]*v1.Pod, changed)
				for i := range pods {
					pods[i] = objects.Pod(fmt.Sprint("pod-", i)).Node(fmt.Sprint("node-", i*size/changed)).Requests("cpu", "1").Build()
				}
				var s Snapshot
				if err := c.UpdateSnapshot(&s); err != nil {
					b.Fatal(err)
				}
				var spent time.Duration
				b.ReportAllocs()
				for b.Loop() {
					for _, pod := range pods {
						if err := c.AssumePod(pod); err != nil {
							b.Fatal(err)
						}
					}
					start := time.Now()
					if err := c.UpdateSnapshot(&s); err != nil {
						b.Fatal(err)
					}
					spent += time.Since(start)
					for _, pod := range pods {
						if err := c.ForgetPod(pod); err != nil {
							b.Fatal(err)
						}
					}
				}
				b.ReportMetric(float64(spent.Nanoseconds())/float64(b.N), "update-ns/op")
			})
		}
	}
}

// BenchmarkNodeComesAndGoes measures the two updates that have to make the lists again.
func BenchmarkNodeComesAndGoes(b *testing.B) {
	for _, size := range []int{1_000, 10_000, 50_000} {
		b.Run(fmt.Sprintf("nodes=%d", size), func(b *testing.B) {
			c := largeCache(b, size)
			var s Snapshot
			if err := c.UpdateSnapshot(&s); err != nil {
				b.Fatal(err)
			}
			extra := objects.Node("extra").Label(v1.LabelTopologyZone, "1").Build()
			b.ReportAllocs()
			for b.Loop() {
				for _, change := range []func(*v1.Node) error{c.AddNode, c.RemoveNode} {
					if err := change(extra); err != nil {
						b.Fatal(err)
					}
					if err := c.UpdateSnapshot(&s); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

// BenchmarkPods measures what happens to a pod between its decision and its end, on a cluster of 10,000 nodes.
func BenchmarkPods(b *testing.B) {
	c := largeCache(b, 10_000)
	pod := objects.Pod("pod").Node("node-77").Requests("cpu", "1", "memory", "1Gi").Build()
	pairs := []struct {
		name     string
		do, undo func(*v1.Pod) error
	}{
		{"AssumePod+ForgetPod", c.AssumePod, c.ForgetPod},
		{"AddPod+RemovePod", c.AddPod, c.RemovePod},
		{"AssumePod+AddPod+RemovePod", func(pod *v1.Pod) error {
			if err := c.AssumePod(pod); err != nil {
				return err
			}
			return c.AddPod(pod)
		}, c.RemovePod},
	}
	for _, pair := range pairs {
		b.Run(pair.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := pair.do(pod); err != nil {
					b.Fatal(err)
				}
				if err := pair.undo(pod); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkFill measures the informers' first lists: 5,000 nodes with ten pods each, and the first snapshot of them.
func BenchmarkFill(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		c := largeCache(b, 5_000)
		var s Snapshot
		if err := c.UpdateSnapshot(&s); err != nil {
			b.Fatal(err)
		}
	}
}
