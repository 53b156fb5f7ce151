// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package imagelocality

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
)

// SignPod implements fwk.SignPlugin. The official signature leaves out how often a pod uses an image, and the images
// of its volumes, though both count in the score.
func (pl *plugin) SignPod(_ context.Context, pod *v1.Pod) ([]fwk.SignFragment, *fwk.Status) {
	names := sets.New[string]()
	for i := range pod.Spec.Containers {
		names.Insert(normalizedName(pod.Spec.Containers[i].Image))
	}
	for i := range pod.Spec.InitContainers {
		names.Insert(normalizedName(pod.Spec.InitContainers[i].Image))
	}
	return []fwk.SignFragment{{Key: fwk.ImageNamesSignerName, Value: sets.List(names)}}, nil
}
