// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"fmt"

	"github.com/rouse-scheduler/rouse/queue"
)

// repeatsUntilStuck is how often a pod has to fail in the same way, while nothing else changes, until it is not
// expected to do anything else any more.
const repeatsUntilStuck = 5

// restless reports whether a pod is going to be tried, or bound, without anything else happening.
func (r *podRecord) restless() bool {
	if r.gone || r.terminating || r.Node != "" {
		return false
	}
	return r.queued == queue.PoolActive || r.queued == queue.PoolBackoff || r.queued == queue.PoolInFlight
}

// stuck reports whether there are pods that are going to be tried by themselves, and all of them only fail as before.
func (t *tracker) stuck() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	found := false
	for _, r := range t.pods {
		if !r.restless() {
			continue
		}
		if r.epoch != t.changes || r.repeats < repeatsUntilStuck {
			return false
		}
		found = true
	}
	return found
}

// checkTries fails if a pod was tried too often without time passing.
func (t *tracker) checkTries(limit int) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.latest
	if r == nil || r.tries <= limit {
		return nil
	}
	return fmt.Errorf("pod %s was tried %d times at %v without time passing, and would be forever: %s; look for a plugin that keeps waking it",
		r.key(), r.tries, t.now(), r.Message)
}

// unsettled names a pod that is tried over and over.
func (t *tracker) unsettled() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.latest == nil {
		return "no pod was tried"
	}
	return fmt.Sprintf("pod %s was tried %d times, the last message is %q", t.latest.key(), t.latest.Attempts, t.latest.Message)
}
