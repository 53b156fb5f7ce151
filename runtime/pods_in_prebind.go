// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"context"
	"errors"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"
)

// podsInPreBind is the pods whose binding can still be called off, because the PreBind plugins are not done. All
// profiles of a scheduler share one. It is safe for concurrent use.
type podsInPreBind struct {
	mu   sync.RWMutex
	pods map[types.UID]*podInPreBind // guarded by mu
}

// newPodsInPreBind returns an empty set.
func newPodsInPreBind() *podsInPreBind {
	return &podsInPreBind{pods: map[types.UID]*podInPreBind{}}
}

// add adds a pod; cancel ends the context of its binding. It replaces an earlier entry of the same pod.
func (p *podsInPreBind) add(uid types.UID, cancel context.CancelCauseFunc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pods[uid] = &podInPreBind{cancel: cancel}
}

// pod returns a pod, or nil.
func (p *podsInPreBind) pod(uid types.UID) fwk.PodInPreBind {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if pod := p.pods[uid]; pod != nil {
		return pod
	}
	return nil
}

// remove removes a pod, if it is there.
func (p *podsInPreBind) remove(uid types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.pods, uid)
}

// podInPreBind is either cancelled or prebound, whatever comes first.
type podInPreBind struct {
	cancel context.CancelCauseFunc

	mu                  sync.Mutex
	cancelled, prebound bool
}

// CancelPod implements fwk.PodInPreBind.
func (p *podInPreBind) CancelPod(reason string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.prebound {
		return false
	}
	if !p.cancelled {
		p.cancelled = true
		p.cancel(errors.New(reason))
	}
	return true
}

// MarkPrebound implements fwk.PodInPreBind.
func (p *podInPreBind) MarkPrebound() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cancelled {
		return false
	}
	p.prebound = true
	return true
}
