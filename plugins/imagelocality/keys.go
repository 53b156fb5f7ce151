// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package imagelocality

import (
	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

var _ framework.ScoreKeyPlugin = &plugin{}

// AppendScoreKey implements framework.ScoreKeyPlugin. How many nodes hold an image is part of the node info; how many
// nodes there are is not, and so it is part of the key.
func (pl *plugin) AppendScoreKey(key []byte, _ fwk.CycleState, pod *v1.Pod) ([]byte, bool) {
	nodes, ok := pl.handle.SnapshotSharedLister().(framework.IndexedSnapshot)
	if !ok {
		return key, false
	}
	key = framework.AppendKeyInt(key, int64(nodes.NodeCount()))
	for i := range pod.Spec.InitContainers {
		key = framework.AppendKeyString(key, pod.Spec.InitContainers[i].Image)
	}
	for i := range pod.Spec.Containers {
		key = framework.AppendKeyString(key, pod.Spec.Containers[i].Image)
	}
	for i := range pod.Spec.Volumes {
		if source := pod.Spec.Volumes[i].Image; source != nil {
			key = framework.AppendKeyString(key, source.Reference)
		}
	}
	return key, true
}

// Scale implements framework.ScoreKeyPlugin.
func (pl *plugin) Scale() framework.Scale { return framework.ScaleNone }
