// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package volumerestrictions

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/podkeys"
	"github.com/rouse-scheduler/rouse/plugins/internal/statedata"
)

var _ framework.FilterKeyPlugin = &plugin{}

// AppendFilterKey implements framework.FilterKeyPlugin: the inline disks, and whether a claim for one pod only is in use. While
// none is, pods added in thought may use one, and so the names matter.
func (pl *plugin) AppendFilterKey(key []byte, state fwk.CycleState, pod *v1.Pod) ([]byte, bool) {
	claims, err := statedata.Read[*exclusiveClaims](state, preFilterKey)
	if err != nil {
		return key, false
	}
	if claims.uses > 0 {
		key = append(key, 1)
	} else {
		key = podkeys.Strings(append(key, 0), sets.List(claims.names))
	}
	for i := range pod.Spec.Volumes {
		disk := &pod.Spec.Volumes[i].VolumeSource
		if !isRestricted(disk) {
			continue
		}
		written, err := disk.Marshal()
		if err != nil {
			return key, false
		}
		key = framework.AppendKeyString(key, string(written))
	}
	return key, true
}
