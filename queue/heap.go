// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

// podHeap is a priority queue of pods. A pod is in one heap at most and knows its position there, so that it can be
// taken out or moved in logarithmic time.
type podHeap struct {
	pods []*queuedPod
	less func(a, b *queuedPod) bool
	// sorted is set if the pods are in order, not only in that of a heap. Pods that come in order, as they do when many
	// are woken at once, are then appended after a look at the one before, which is at hand, and not at a parent.
	sorted bool
	// comparing calls a function that compares pods, and calls it again if it does not return; nil for a less that always
	// returns. At any time every pod is in the heap once, and knows its position.
	comparing func(do func())
}

func newPodHeap(less func(a, b *queuedPod) bool) podHeap { return podHeap{less: less} }

func (h *podHeap) len() int { return len(h.pods) }

// first returns the least pod, nil if there is none.
func (h *podHeap) first() *queuedPod {
	if len(h.pods) == 0 {
		return nil
	}
	return h.pods[0]
}

func (h *podHeap) push(pod *queuedPod) {
	last := len(h.pods)
	pod.heapIndex = last
	h.pods = append(h.pods, pod)
	if last == 0 {
		h.sorted = true
		return
	}
	h.compare(pod, (*podHeap).place)
}

// place moves a pod that was appended to its position.
func (h *podHeap) place(pod *queuedPod) {
	if h.sorted && !h.less(pod, h.pods[pod.heapIndex-1]) {
		return
	}
	h.sorted = false
	h.up(pod.heapIndex)
}

// compare calls do for a pod. It can be called again if it does not return.
func (h *podHeap) compare(pod *queuedPod, do func(*podHeap, *queuedPod)) {
	if h.comparing == nil {
		do(h, pod)
		return
	}
	h.comparing(func() { do(h, pod) })
}

func (h *podHeap) remove(pod *queuedPod) {
	i, last := pod.heapIndex, len(h.pods)-1
	if i != last {
		h.swap(i, last)
	}
	h.pods[last] = nil
	h.pods = h.pods[:last]
	pod.heapIndex = -1
	if i != last {
		h.fix(h.pods[i])
	}
}

// fix restores the order after a pod of the heap changed.
func (h *podHeap) fix(pod *queuedPod) {
	h.sorted = false
	h.compare(pod, (*podHeap).move)
}

func (h *podHeap) move(pod *queuedPod) {
	if i := pod.heapIndex; !h.down(i) {
		h.up(i)
	}
}

func (h *podHeap) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !h.less(h.pods[i], h.pods[parent]) {
			return
		}
		h.swap(i, parent)
		i = parent
	}
}

// down reports whether the pod moved.
func (h *podHeap) down(from int) bool {
	i := from
	for {
		least := 2*i + 1
		if least >= len(h.pods) {
			break
		}
		if right := least + 1; right < len(h.pods) && h.less(h.pods[right], h.pods[least]) {
			least = right
		}
		if !h.less(h.pods[least], h.pods[i]) {
			break
		}
		h.swap(i, least)
		i = least
	}
	return i > from
}

func (h *podHeap) swap(i, j int) {
	h.pods[i], h.pods[j] = h.pods[j], h.pods[i]
	h.pods[i].heapIndex, h.pods[j].heapIndex = i, j
}
