// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package notbuilt

import (
	"fmt"

	fwk "k8s.io/kube-scheduler/framework"
)

// need is something that a pod asks for and that only a missing plugin can look after.
type need struct {
	// what continues the sentence "pod ...", and field says where the pod says so.
	what, field string
}

// rejection returns the status for a pod with the need.
func (n *need) rejection(plugin string) *fwk.Status {
	reason := fmt.Sprintf("pod %s (%s), which needs plugin %s; this version of Rouse does not have it yet", n.what, n.field, plugin)
	return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, reason)
}
