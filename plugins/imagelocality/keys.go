// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package imagelocality

import (
	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

var _ framework.ScoreKeyPlugin = &plugin{}

// AppendScoreKey implements framework.ScoreKeyPlugin. How many nodes there are is not part of the node info, and so it is part of
// the key. How many nodes hold an image is part of the node info, unless the snapshot keeps that current: then it is part of the key
// too, or all there is to say is that no node can get a score.
func (pl *plugin) AppendScoreKey(key []byte, _ fwk.CycleState, pod *v1.Pod) ([]byte, bool) {
	nodes, ok := pl.handle.SnapshotSharedLister().(framework.IndexedSnapshot)
	if !ok {
		return key, false
	}
	start := len(key)
	images, _ := nodes.(framework.CurrentImages)
	key = framework.AppendKeyInt(key, int64(nodes.NodeCount()))
	var count, most int64
	current := images != nil
	for name := range imagesOf(pod) {
		key = framework.AppendKeyString(key, name)
		if !current {
			continue
		}
		var image fwk.ImageStateSummary
		if image, current = images.CurrentImage(normalizedName(name)); current {
			key = framework.AppendKeyInt(key, image.Size)
			key = framework.AppendKeyInt(key, int64(image.NumNodes))
			count++
			most += scaledSize(&image, nodes.NodeCount())
		}
	}
	if current && scale(count, most) == fwk.MinScore {
		return key[:start], true
	}
	return key, true
}

// Scale implements framework.ScoreKeyPlugin.
func (pl *plugin) Scale() framework.Scale { return framework.ScaleNone }
