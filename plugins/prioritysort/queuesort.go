// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package prioritysort

import (
	fwk "k8s.io/kube-scheduler/framework"
)

// Less implements fwk.QueueSortPlugin.
func (pl *plugin) Less(a, b fwk.QueuedEntityInfo) bool { return Less(a, b) }

// Less reports whether a is popped before b: pods of higher priority first, and of equal priority those that have waited
// longer. Entries of equal priority and equal time are not less than each other. Plugins that sort by something else first
// call it for the rest.
func Less(a, b fwk.QueuedEntityInfo) bool {
	if a.GetPriority() != b.GetPriority() {
		return a.GetPriority() > b.GetPriority()
	}
	return a.GetTimestamp().Before(b.GetTimestamp())
}
