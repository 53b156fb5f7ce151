// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package imagelocality

import (
	"context"
	"fmt"
	"iter"
	"strings"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

const (
	mebibyte int64 = 1 << 20
	// floor is the size in bytes below which images on a node don't count.
	floor = 23 * mebibyte
	// ceilingPerImage is the size in bytes beyond which an image counts no more.
	ceilingPerImage = 1000 * mebibyte
)

// Score implements fwk.ScorePlugin. Without a snapshot of the cluster, all nodes are equal.
func (pl *plugin) Score(_ context.Context, _ fwk.CycleState, pod *v1.Pod, nodeInfo fwk.NodeInfo) (int64, *fwk.Status) {
	snapshot := pl.handle.SnapshotSharedLister()
	if snapshot == nil {
		return fwk.MinScore, nil
	}
	nodes, err := snapshot.NodeInfos().List()
	if err != nil {
		return 0, fwk.AsStatus(fmt.Errorf("counting the nodes to score images for pod %s/%s: %w", pod.Namespace, pod.Name, err))
	}
	count, size := imagesOnNode(pod, framework.View(nodeInfo).ImageStates(), len(nodes))
	return scale(count, size), nil
}

// ScoreExtensions implements fwk.ScorePlugin; scores need no normalisation.
func (pl *plugin) ScoreExtensions() fwk.ScoreExtensions { return nil }

// imagesOnNode returns how many images the pod uses, and the bytes of those that the node has, each scaled down by the
// share of nodes that have it. An image that is used twice counts twice.
func imagesOnNode(pod *v1.Pod, states map[string]*fwk.ImageStateSummary, totalNodes int) (count, size int64) {
	for name := range imagesOf(pod) {
		count++
		if state := states[normalizedName(name)]; state != nil {
			size += scaledSize(state, totalNodes)
		}
	}
	return count, size
}

// scaledSize is the size of an image, scaled down by the share of nodes that have it.
func scaledSize(state *fwk.ImageStateSummary, totalNodes int) int64 {
	return int64(float64(state.Size) * (float64(state.NumNodes) / float64(totalNodes)))
}

// imagesOf yields the images of a pod, as it names them.
func imagesOf(pod *v1.Pod) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range pod.Spec.InitContainers {
			if !yield(pod.Spec.InitContainers[i].Image) {
				return
			}
		}
		for i := range pod.Spec.Containers {
			if !yield(pod.Spec.Containers[i].Image) {
				return
			}
		}
		for i := range pod.Spec.Volumes {
			if source := pod.Spec.Volumes[i].Image; source != nil && !yield(source.Reference) {
				return
			}
		}
	}
}

// scale maps bytes to a score from 0 to 100, linearly between the floor and the ceiling of that many images.
func scale(images, size int64) int64 {
	ceiling := images * ceilingPerImage
	if size < floor || ceiling <= floor {
		return fwk.MinScore
	}
	return fwk.MaxScore * (min(size, ceiling) - floor) / (ceiling - floor)
}

// normalizedName gives a reference without a tag the tag that a container runtime would use. A colon before the last
// slash belongs to the port of a registry.
func normalizedName(reference string) string {
	if strings.LastIndex(reference, ":") <= strings.LastIndex(reference, "/") {
		return reference + ":latest"
	}
	return reference
}
