// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package nodeports

import (
	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/statedata"
)

var _ framework.FilterKeyPlugin = &plugin{}

// AppendFilterKey implements framework.FilterKeyPlugin.
func (pl *plugin) AppendFilterKey(key []byte, state fwk.CycleState, _ *v1.Pod) ([]byte, bool) {
	wanted, err := statedata.Read[*wantedPorts](state, preFilterKey)
	if err != nil {
		return key, false
	}
	for i := range wanted.ports {
		port := &wanted.ports[i]
		key = framework.AppendKeyString(key, port.HostIP)
		key = framework.AppendKeyString(key, string(port.Protocol))
		key = framework.AppendKeyInt(key, int64(port.HostPort))
	}
	return key, true
}
