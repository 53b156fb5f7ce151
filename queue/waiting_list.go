// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

// waitingList has pods in the order of how long they wait, the longest first, linked through their own fields. Pods that
// began to wait last are added at the end, and any pod is taken out, in constant time. Queue.mu guards it.
type waitingList struct {
	first, last *queuedPod
	length      int
	// inserted is the pod that was last added elsewhere than at the end. The next such pod is likely to belong near it.
	inserted *queuedPod
}

func longestWaiting(a, b *queuedPod) bool {
	since, other := a.waitingSince(), b.waitingSince()
	if since.Equal(other) {
		return a.order < b.order
	}
	return since.Before(other)
}

func (l *waitingList) add(pod *queuedPod) {
	after := l.last
	if after != nil && longestWaiting(pod, after) {
		after = l.search(pod)
		l.inserted = pod
	}
	next := l.first
	if after != nil {
		next = after.next
		after.next = pod
	} else {
		l.first = pod
	}
	if next != nil {
		next.previous = pod
	} else {
		l.last = pod
	}
	pod.previous, pod.next = after, next
	l.length++
}

// search returns the pod after which one belongs, nil if it is to be the first.
func (l *waitingList) search(pod *queuedPod) *queuedPod {
	after := l.inserted
	if after == nil {
		after = l.last
	}
	for after != nil && longestWaiting(pod, after) {
		after = after.previous
	}
	next := l.first
	if after != nil {
		next = after.next
	}
	for next != nil && longestWaiting(next, pod) {
		after, next = next, next.next
	}
	return after
}

func (l *waitingList) remove(pod *queuedPod) {
	if pod.previous != nil {
		pod.previous.next = pod.next
	} else {
		l.first = pod.next
	}
	if pod.next != nil {
		pod.next.previous = pod.previous
	} else {
		l.last = pod.previous
	}
	if l.inserted == pod {
		l.inserted = pod.previous
	}
	pod.previous, pod.next = nil, nil
	l.length--
}

// fix restores the order after a pod of the list changed.
func (l *waitingList) fix(pod *queuedPod) {
	l.remove(pod)
	l.add(pod)
}

// all is an iter.Seq of the pods. The one that it is at may be taken out meanwhile.
func (l *waitingList) all(yield func(*queuedPod) bool) {
	for pod := l.first; pod != nil; {
		next := pod.next
		if !yield(pod) {
			return
		}
		pod = next
	}
}
