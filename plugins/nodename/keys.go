// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package nodename

import (
	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

var _ framework.FilterKeyPlugin = &plugin{}

// AppendFilterKey implements framework.FilterKeyPlugin.
func (pl *plugin) AppendFilterKey(key []byte, _ fwk.CycleState, pod *v1.Pod) ([]byte, bool) {
	return append(key, pod.Spec.NodeName...), true
}
