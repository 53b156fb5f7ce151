// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package noderesourcesfit

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/statedata"
)

var (
	_ framework.FilterKeyPlugin   = &plugin{}
	_ framework.ScoreKeyPlugin    = &plugin{}
	_ framework.BatchFilterPlugin = &plugin{}
	_ framework.BatchScorePlugin  = &plugin{}
)

// AppendFilterKey implements framework.FilterKeyPlugin. The key says of each extended resource whether devices serve it,
// because then nodes that offer none of it are not rejected.
func (pl *plugin) AppendFilterKey(key []byte, state fwk.CycleState, _ *v1.Pod) ([]byte, bool) {
	request, err := statedata.Read[*podRequest](state, preFilterKey)
	if err != nil {
		return key, false
	}
	key = framework.AppendKeyInt(key, request.MilliCPU)
	key = framework.AppendKeyInt(key, request.Memory)
	key = framework.AppendKeyInt(key, request.EphemeralStorage)
	if len(request.ScalarResources) == 0 {
		return key, true
	}
	for _, name := range slices.Sorted(maps.Keys(request.ScalarResources)) {
		quantity := request.ScalarResources[name]
		served := int64(0)
		if quantity != 0 && pl.classes.Serve(name) {
			served = 1
		}
		key = framework.AppendKeyInt(framework.AppendKeyInt(framework.AppendKeyString(key, string(name)), quantity), served)
	}
	return key, true
}

// AppendScoreKey implements framework.ScoreKeyPlugin.
func (pl *plugin) AppendScoreKey(key []byte, state fwk.CycleState, _ *v1.Pod) ([]byte, bool) {
	request, err := statedata.Read[*scoredRequest](state, preScoreKey)
	if err != nil {
		return key, false
	}
	for _, amount := range request.amounts {
		key = framework.AppendKeyInt(key, amount)
	}
	return request.served.AppendKey(key)
}

// Scale implements framework.ScoreKeyPlugin.
func (pl *plugin) Scale() framework.Scale { return framework.ScaleNone }
