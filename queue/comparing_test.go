// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"fmt"
	"math/rand/v2"
	goruntime "runtime"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// TestComparisonsThatEndTheirGoroutine pushes and removes pods while comparisons end the goroutine at random: no pod is lost, and
// the order is right.
func TestComparisonsThatEndTheirGoroutine(t *testing.T) {
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 0))
		ends := true
		less := func(a, b *queuedPod) bool {
			if ends && random.IntN(20) == 0 {
				goruntime.Goexit()
			}
			return a.order < b.order
		}
		heap := newPodHeap(less)
		heap.comparing = func(do func()) {
			for returned := false; !returned; {
				done := make(chan struct{})
				go func() {
					defer close(done)
					do()
					returned = true
				}()
				<-done
			}
		}
		in := sets.New[*queuedPod]()
		for range 200 {
			if random.IntN(3) > 0 || in.Len() == 0 {
				pod := &queuedPod{order: uint64(random.IntN(100))}
				heap.push(pod)
				in.Insert(pod)
				continue
			}
			removed := heap.pods[random.IntN(heap.len())]
			heap.remove(removed)
			in.Delete(removed)
		}
		ends = false
		if !in.Equal(sets.New(heap.pods...)) || heap.len() != in.Len() {
			t.Fatalf("seed %d: %d pods in the heap, want %d", seed, heap.len(), in.Len())
		}
		var orders []uint64
		for heap.len() > 0 {
			orders = append(orders, heap.first().order)
			heap.remove(heap.first())
		}
		if !slices.IsSorted(orders) {
			t.Fatalf("seed %d: the pods are popped in the order %v", seed, orders)
		}
	}
}

// TestWithLess has a queue compare pods only by the function that WithLess gives it.
func TestWithLess(t *testing.T) {
	order := func(a, b fwk.QueuedEntityInfo) bool { return a.GetPriority() > b.GetPriority() }
	alone, batches := 0, 0
	q, err := New(t.Context(), Options{
		Less: func(a, b fwk.QueuedEntityInfo) bool { alone++; return order(a, b) },
		WithLess: func(do func(fwk.LessFunc)) {
			batches++
			do(order)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		q.Add(objects.Pod(fmt.Sprint("pod", i)).Priority(int32(i % 7)).Build())
	}
	if alone != 0 || batches == 0 {
		t.Errorf("%d comparisons by themselves, %d calls of WithLess, want none and some", alone, batches)
	}
}
