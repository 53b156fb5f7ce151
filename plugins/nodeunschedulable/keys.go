// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package nodeunschedulable

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

var _ framework.FilterKeyPlugin = &plugin{}

// AppendFilterKey implements framework.FilterKeyPlugin: all that counts is whether the pod tolerates cordoned nodes.
func (pl *plugin) AppendFilterKey(key []byte, _ fwk.CycleState, pod *v1.Pod) ([]byte, bool) {
	if toleratesCordon(klog.Logger{}, pod) {
		return append(key, 't'), true
	}
	return key, true
}
