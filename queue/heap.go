// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import "container/heap"

// podHeap is a priority queue of pods. A pod is in one heap at most and knows its position there, so that it can be
// taken out or moved in logarithmic time.
type podHeap struct{ order heapOrder }

func newPodHeap(less func(a, b *queuedPod) bool) podHeap {
	return podHeap{heapOrder{less: less}}
}

func (h *podHeap) len() int { return len(h.order.pods) }

// first returns the least pod, nil if there is none.
func (h *podHeap) first() *queuedPod {
	if h.len() == 0 {
		return nil
	}
	return h.order.pods[0]
}

func (h *podHeap) push(pod *queuedPod)   { heap.Push(&h.order, pod) }
func (h *podHeap) remove(pod *queuedPod) { heap.Remove(&h.order, pod.heapIndex) }

// fix restores the order after a pod of the heap changed.
func (h *podHeap) fix(pod *queuedPod) { heap.Fix(&h.order, pod.heapIndex) }

// heapOrder is the heap.Interface beneath a podHeap.
type heapOrder struct {
	pods []*queuedPod
	less func(a, b *queuedPod) bool
}

func (o *heapOrder) Len() int           { return len(o.pods) }
func (o *heapOrder) Less(i, j int) bool { return o.less(o.pods[i], o.pods[j]) }

func (o *heapOrder) Swap(i, j int) {
	o.pods[i], o.pods[j] = o.pods[j], o.pods[i]
	o.pods[i].heapIndex, o.pods[j].heapIndex = i, j
}

func (o *heapOrder) Push(x any) {
	pod := x.(*queuedPod)
	pod.heapIndex = len(o.pods)
	o.pods = append(o.pods, pod)
}

func (o *heapOrder) Pop() any {
	last := len(o.pods) - 1
	pod := o.pods[last]
	o.pods[last] = nil
	o.pods = o.pods[:last]
	pod.heapIndex = -1
	return pod
}
