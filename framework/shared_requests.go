// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"sync"
)

// maxSharedRequests is how many different requests are remembered; when there are more, all are forgotten.
const maxSharedRequests = 1 << 12

// sharedRequests makes pods that ask for the same share one record of it. The zero value is ready. It is safe for
// concurrent use.
type sharedRequests struct {
	mu    sync.Mutex
	known map[plainRequests]*podRequests
}

// plainRequests is what most pods ask for: no scalar resources.
type plainRequests struct {
	resource                  [3]int64
	nonZeroCPU, nonZeroMemory int64
}

// intern has a pod, unless it knows already, know what it asks for.
func (s *sharedRequests) intern(pod *PodInfo) {
	if pod.requests.Load() != nil {
		return
	}
	calculated := podRequests{PodResource: calculateResource(pod.GetPod())}
	vector, ok := calculated.Resource.(*Resource)
	if !ok || len(vector.ScalarResources) > 0 {
		pod.requests.CompareAndSwap(nil, &calculated)
		return
	}
	key := plainRequests{
		resource:      [3]int64{vector.MilliCPU, vector.Memory, vector.EphemeralStorage},
		nonZeroCPU:    calculated.Non0CPU,
		nonZeroMemory: calculated.Non0Mem,
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	known, ok := s.known[key]
	if !ok {
		if s.known == nil || len(s.known) >= maxSharedRequests {
			s.known = map[plainRequests]*podRequests{}
		}
		known = &calculated
		s.known[key] = known
	}
	pod.requests.CompareAndSwap(nil, known)
}
