// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/runtime/internal/verdicts"
)

// nominatedNode is a node for which other pods are nominated that must keep their place. The verdict on it depends on these
// pods too, and so is not the combined verdict.
type nominatedNode struct {
	index int
	pods  []fwk.PodInfo
}

// nominatedNodes returns the nodes on which this pod must leave room for others.
func (s *cachedSearch) nominatedNodes() []nominatedNode {
	nominator, ok := s.f.options.Nominator.(NominatedNodes)
	if !ok {
		return nil
	}
	var nominated []nominatedNode
	for _, name := range nominator.NominatedNodes() {
		if nodeIndex, ok := s.nodes.NodeIndex(name); ok {
			if pods := s.f.nominatedBefore(s.pod, s.nodes.NodeAt(nodeIndex)); len(pods) > 0 {
				nominated = append(nominated, nominatedNode{nodeIndex, pods})
			}
		}
	}
	return nominated
}

// filterNominated asks all plugins about the nodes for which other pods are nominated, with these pods on them, also where the
// combined verdict is a rejection: with the pods the reason may be another one, or a plugin may fail. The verdicts are cached if
// those of all plugins are: among 5,000 nodes, a hundred of them nominated, a decision takes a third of the time (BenchmarkSearch).
func (s *cachedSearch) filterNominated() *fwk.Status {
	if len(s.nominated) == 0 {
		return nil
	}
	var cached *verdicts.Nominated
	if len(s.rest) == 0 && !s.snapshotOnly {
		cached = s.nominatedVerdicts()
	}
	for _, node := range s.nominated {
		v, known := cached.Get(node.index, node.pods)
		if !known {
			status := s.f.RunFilterPluginsWithNominatedPods(s.ctx, s.state, s.pod, s.nodes.NodeAt(node.index))
			switch {
			case status.IsSuccess():
				v = verdicts.Accepted
			case status.IsRejected():
				v = s.cache.rejections.Number(status, status.Plugin())
			default:
				return status
			}
			cached.Put(node.index, node.pods, v)
		}
		s.cache.setAsked(node.index, v)
	}
	return nil
}

// nominatedVerdicts finds or makes the cached verdicts on nominated nodes for this pod, and brings them up to date.
func (s *cachedSearch) nominatedVerdicts() *verdicts.Nominated {
	key := s.storeKeyOf(keyOfNominatedNodes, s.combinedKey)
	entry := s.cache.store.Get(key)
	if entry == nil {
		entry = s.cache.store.Put(key, verdicts.NewNominated())
	}
	cached := entry.Value.(*verdicts.Nominated)
	cached.Sync(s.changes())
	return cached
}
