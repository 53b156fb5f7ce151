// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package volumebinding

import (
	"encoding/binary"

	v1 "k8s.io/api/core/v1"
	storagevolume "k8s.io/component-helpers/storage/volume"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/podkeys"
	"github.com/rouse-scheduler/rouse/plugins/internal/statedata"
)

var (
	_ framework.FilterKeyPlugin   = &plugin{}
	_ framework.BatchFilterPlugin = &plugin{}
	_ framework.ScoreKeyPlugin    = &plugin{}
)

// maxCandidates is how many volumes a claim may choose from for the pod to have a key. With more, the key would rarely come
// again: it changes with each of them.
const maxCandidates = 16

// AppendFilterKey implements framework.FilterKeyPlugin: from where the volumes of bound claims can be reached, and which volumes
// others may get, but not which claims these are. Nothing is said of nodes by name but where a claim has to stay.
func (pl *plugin) AppendFilterKey(key []byte, state fwk.CycleState, _ *v1.Pod) ([]byte, bool) {
	ofPod, err := statedata.Read[*podState](state, stateKey)
	if err != nil {
		return key, false
	}
	key = framework.AppendKeyInt(key, int64(len(ofPod.bound)))
	for i := range ofPod.bound {
		var ok bool
		if key, ok = pl.appendBound(key, &ofPod.bound[i]); !ok {
			return key, false
		}
	}
	for _, claim := range ofPod.delayed {
		var ok bool
		if key, ok = pl.appendDelayed(key, claim); !ok {
			return key, false
		}
	}
	return key, true
}

func (pl *plugin) appendBound(key []byte, claim *boundClaim) ([]byte, bool) {
	switch {
	case claim.failure != nil || claim.migratedFailure != nil:
		return key, false
	case claim.gone:
		return append(key, 0), true
	case claim.plugin == "":
		return podkeys.NodeSelector(append(key, 1), claim.affinity.required), true
	case pl.manager == nil: // CSINodes matter too
		return key, false
	}
	key = framework.AppendKeyString(append(key, 2), claim.plugin)
	key = framework.AppendKeyInt(key, int64(pl.manager.Migrations()))
	key = podkeys.NodeSelector(key, claim.affinity.required)
	return podkeys.NodeSelector(key, claim.migrated.required), true
}

func (pl *plugin) appendDelayed(key []byte, claim *delayedClaim) ([]byte, bool) {
	if claim.assigned {
		key = framework.AppendKeyString(append(key, 1), claim.node)
	} else {
		choice := &claim.candidates
		if choice.failure != nil || len(choice.prebound)+len(choice.free) > maxCandidates {
			return key, false
		}
		key = appendCandidates(append(key, 0), choice.prebound)
		key = appendCandidates(key, choice.free)
	}
	provisioner, err := claim.provisioner()
	if err != nil {
		return key, false
	}
	if provisioner.never {
		return append(key, 0), true
	}
	key = append(key, 1)
	for i := range provisioner.class.AllowedTopologies {
		key = append(key, 2)
		for _, expression := range provisioner.class.AllowedTopologies[i].MatchLabelExpressions {
			key = podkeys.Strings(framework.AppendKeyString(append(key, 3), expression.Key), expression.Values)
		}
	}
	if !provisioner.limited {
		return append(key, 0), true
	}
	if pl.manager == nil { // what storage there is matters too
		return key, false
	}
	key = framework.AppendKeyString(append(key, 1), provisioner.class.Name)
	key = framework.AppendKeyInt(key, provisioner.size)
	return framework.AppendKeyInt(key, int64(provisioner.revision)), true
}

// appendCandidates appends volumes, each by its version. Whether it is chosen depends on nothing else.
func appendCandidates(key []byte, volumes []candidate) []byte {
	key = binary.AppendUvarint(key, uint64(len(volumes)))
	for i := range volumes {
		key = framework.AppendKeyString(key, volumes[i].Name)
		key = framework.AppendKeyString(key, string(volumes[i].UID))
		key = framework.AppendKeyString(key, volumes[i].ResourceVersion)
	}
	return key
}

// AppendScoreKey implements framework.ScoreKeyPlugin. All nodes score zero if it is not known how much storage there is; otherwise
// it depends on what Filter goes by, and on how much of it the claims ask for.
func (pl *plugin) AppendScoreKey(key []byte, state fwk.CycleState, pod *v1.Pod) ([]byte, bool) {
	ofPod, err := statedata.Read[*podState](state, stateKey)
	if err != nil {
		return key, false
	}
	if !ofPod.knowsStorage() {
		return key, true
	}
	key = framework.AppendKeyInt(key, int64(len(ofPod.delayed)))
	for _, claim := range ofPod.delayed {
		requested := requestedStorage(claim.PersistentVolumeClaim)
		key = framework.AppendKeyInt(key, requested.Value())
		key = framework.AppendKeyString(key, storagevolume.GetPersistentVolumeClaimClass(claim.PersistentVolumeClaim))
	}
	return pl.AppendFilterKey(key, state, pod)
}

// Scale implements framework.ScoreKeyPlugin.
func (pl *plugin) Scale() framework.Scale { return framework.ScaleNone }
