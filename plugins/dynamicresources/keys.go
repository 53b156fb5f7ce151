// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package dynamicresources

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// AppendFilterKey implements framework.FilterKeyPlugin. The answer about a node depends on what the claims ask for, on
// device classes, on the node, on the pools that it shares with others, and on those that are its own. The key has all but
// the last: when they change, the manager has the node count as changed (see devices.Options). There is no key for claims
// whose devices are the blockers if they can't be used on some node, because PostFilter wants to know which these are, and
// none for devices that have to be made ready in time.
func (pl *plugin) AppendFilterKey(key []byte, state fwk.CycleState, pod *v1.Pod) ([]byte, bool) {
	s, err := readState(state)
	if err != nil || pl.manager == nil {
		return key, false
	}
	key = framework.AppendKeyInt(key, int64(pl.manager.ClassRevision()))
	key = framework.AppendKeyInt(key, int64(pl.manager.SharedVersion()))
	for _, c := range s.claims {
		var ok bool
		switch {
		case c.index < 0:
			key, ok = appendExtended(key, s.extended, pod)
		case c.allocated():
			key, ok = appendAllocated(key, c, pod)
		default:
			key, ok = appendMessage(key, &c.claim.Spec.Devices)
		}
		if !ok {
			return key, false
		}
	}
	return key, true
}

// AppendScoreKey implements framework.ScoreKeyPlugin.
func (pl *plugin) AppendScoreKey(key []byte, state fwk.CycleState, pod *v1.Pod) ([]byte, bool) {
	s, err := readState(state)
	if err != nil {
		return key, false
	}
	if !s.choosy {
		return key, true
	}
	return pl.AppendFilterKey(key, state, pod)
}

// Scale implements framework.ScoreKeyPlugin.
func (pl *plugin) Scale() framework.Scale { return framework.ScaleToHighest }

// appendAllocated appends where the devices of a claim can be used.
func appendAllocated(key []byte, c *podClaim, pod *v1.Pod) ([]byte, bool) {
	if onlyFor(c.claim, pod) {
		return key, false
	}
	for i := range c.claim.Status.Allocation.Devices.Results {
		if len(c.claim.Status.Allocation.Devices.Results[i].BindingConditions) > 0 {
			return key, false
		}
	}
	key = framework.AppendKeyString(key, "allocated")
	key, ok := appendMessage(key, &c.claim.Spec.Devices)
	if !ok {
		return key, false
	}
	return appendMessage(key, c.claim.Status.Allocation)
}

// appendExtended appends what the containers ask for, and in which order they run.
func appendExtended(key []byte, extended *extendedClaim, pod *v1.Pod) ([]byte, bool) {
	if extended.stale {
		return key, false
	}
	key = framework.AppendKeyString(key, "extended")
	for _, name := range slices.Sorted(maps.Keys(extended.requested)) {
		key = framework.AppendKeyString(key, string(name))
		asked := containerRequests(pod, name)
		key = framework.AppendKeyInt(key, int64(len(asked)))
		for i := range asked {
			amount := asked[i].amount
			if !asked[i].longLived {
				amount = -amount
			}
			key = framework.AppendKeyString(key, asked[i].request)
			key = framework.AppendKeyInt(key, amount)
		}
	}
	return key, true
}

func appendMessage(key []byte, message interface{ Marshal() ([]byte, error) }) ([]byte, bool) {
	written, err := message.Marshal()
	if err != nil {
		return key, false
	}
	return framework.AppendKeyString(key, string(written)), true
}
