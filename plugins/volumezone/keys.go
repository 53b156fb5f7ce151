// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package volumezone

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/podkeys"
	"github.com/rouse-scheduler/rouse/plugins/internal/statedata"
)

var _ framework.FilterKeyPlugin = &plugin{}

// AppendFilterKey implements framework.FilterKeyPlugin: the places of the volumes. Which volume is where does not matter.
func (pl *plugin) AppendFilterKey(key []byte, state fwk.CycleState, _ *v1.Pod) ([]byte, bool) {
	ofPod, err := statedata.Read[*podPlaces](state, preFilterKey)
	if err != nil {
		return key, false
	}
	for i := range ofPod.places {
		key = framework.AppendKeyString(key, ofPod.places[i].Label)
		key = podkeys.Strings(key, sets.List(ofPod.places[i].Values))
	}
	return key, true
}
