// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package preemption

import (
	"math"

	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// lowestPriority returns the lowest priority of the pods on a node; where there are none, the highest that there is, so
// that nothing has a higher one.
func lowestPriority(node fwk.NodeInfo) int32 {
	lowest := int32(math.MaxInt32)
	for _, pod := range framework.View(node).Pods() {
		lowest = min(lowest, framework.ViewPod(pod).Priority())
	}
	return lowest
}
