// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"context"
	"fmt"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	clientset "k8s.io/client-go/kubernetes"
)

const (
	// claimsPerPage is how many claims are listed by one request.
	claimsPerPage = 1000
	// catchUpEvery is how often the claims are listed that the informer does not have.
	catchUpEvery = time.Second
)

// CatchUp lists the claims, so that the manager knows all allocations that have been written by now, also those that the
// informer has not heard of. A scheduler that becomes the leader must know what the last leader wrote before it allocates
// devices itself. Claims that the informer does not have are forgotten when they are gone; to find that out, they are listed
// again until it has them. That is done by the returned function, which returns then, or when its context ends.
func (m *Manager) CatchUp(ctx context.Context, client clientset.Interface) (follow func(context.Context), err error) {
	if err := m.catchUp(ctx, client); err != nil {
		return nil, err
	}
	return func(ctx context.Context) {
		_ = wait.PollUntilContextCancel(ctx, catchUpEvery, false, func(ctx context.Context) (bool, error) {
			if m.awaitsClaims() {
				_ = m.catchUp(ctx, client) // which is tried again
			}
			return !m.awaitsClaims(), nil
		})
	}, nil
}

// awaitsClaims reports whether there are claims that the informer does not have.
func (m *Manager) awaitsClaims() bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return len(m.awaited) > 0
}

func (m *Manager) catchUp(ctx context.Context, client clientset.Interface) error {
	listed := sets.New[string]()
	options := metav1.ListOptions{Limit: claimsPerPage}
	for {
		page, err := client.ResourceV1().ResourceClaims("").List(ctx, options)
		if err != nil {
			return fmt.Errorf("listing the claims that have been allocated: %w", err)
		}
		for i := range page.Items {
			listed.Insert(claimKey(&page.Items[i]))
			m.claimListed(&page.Items[i])
		}
		if options.Continue = page.Continue; options.Continue == "" {
			break
		}
	}
	m.mu.RLock()
	gone := m.awaited.Difference(listed)
	m.mu.RUnlock()
	for key := range gone {
		m.forgetAwaited(key)
	}
	return nil
}

// claimListed takes notice of a claim that the API server has.
func (m *Manager) claimListed(claim *resourceapi.ResourceClaim) {
	key := claimKey(claim)
	affected := sets.New[string]()
	m.mu.Lock()
	latest := m.claims[key]
	if latest == nil || latest.UID != claim.UID {
		if claim.Status.Allocation == nil || latest != nil && isOlder(claim, latest) {
			m.mu.Unlock()
			return // the informer will hear of it in time
		}
		m.awaited.Insert(key)
		m.replace(latest, claim, affected)
	} else if isOlder(latest, claim) {
		m.replace(latest, claim, affected)
	}
	m.mu.Unlock()
	m.touch(affected)
	m.deliver()
}

// forgetAwaited forgets a claim that is gone, unless the informer has it by now and will hear that it is gone.
func (m *Manager) forgetAwaited(key string) {
	affected := sets.New[string]()
	m.mu.Lock()
	if latest := m.claims[key]; latest != nil && m.awaited.Has(key) {
		m.forget(key, latest, affected)
	}
	m.mu.Unlock()
	m.touch(affected)
	m.deliver()
}
