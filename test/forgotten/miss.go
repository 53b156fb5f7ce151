// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package forgotten

import (
	"fmt"
	"slices"

	"github.com/rouse-scheduler/rouse/inspect"
)

// miss is a way in which a plugin misses wake-ups: an event that it did not register, or for which its hint is wrong.
type miss struct {
	plugin, event string
	reason        inspect.MissReason
}

// String returns how a table or a test names the miss.
func (m miss) String() string {
	switch m.reason {
	case inspect.MissReasonNotRegistered:
		return fmt.Sprintf("%s does not register %s", m.plugin, m.event)
	case inspect.MissReasonSkipped:
		return fmt.Sprintf("the hint of %s for %s returns QueueSkip", m.plugin, m.event)
	}
	return fmt.Sprintf("%s misses %s: %s", m.plugin, m.event, m.reason)
}

// missesOf returns the misses of an audit, each with the pod that was not woken.
func missesOf(found *inspect.Audit) map[miss]*inspect.MissedWakeup {
	misses := map[miss]*inspect.MissedWakeup{}
	for i := range found.Missed {
		for _, by := range found.Missed[i].MissedBy {
			key := miss{by.Plugin, by.Event, by.Reason}
			if misses[key] == nil {
				misses[key] = &found.Missed[i]
			}
		}
	}
	return misses
}

// sorted returns misses in a fixed order.
func sorted[V any](misses map[miss]V) []miss {
	var keys []miss
	for key := range misses {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b miss) int {
		return slices.Compare([]string{a.plugin, a.event, string(a.reason)}, []string{b.plugin, b.event, string(b.reason)})
	})
	return keys
}
