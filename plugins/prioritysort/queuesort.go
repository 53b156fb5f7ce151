// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package prioritysort

import (
	fwk "k8s.io/kube-scheduler/framework"
)

// Less implements fwk.QueueSortPlugin. Entries of equal priority and equal time are not less than each other.
func (pl *Plugin) Less(a, b fwk.QueuedEntityInfo) bool {
	if a.GetPriority() != b.GetPriority() {
		return a.GetPriority() > b.GetPriority()
	}
	return a.GetTimestamp().Before(b.GetTimestamp())
}
