// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package volumezone

import (
	"context"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugins/internal/podvolumes"
)

// SignPod implements fwk.SignPlugin.
func (pl *plugin) SignPod(_ context.Context, pod *v1.Pod) ([]fwk.SignFragment, *fwk.Status) {
	return podvolumes.Sign(pod), nil
}

// HintClass implements framework.HintClassPlugin: pods are alike if they are in the same namespace and name the same
// claims.
func (pl *plugin) HintClass(pod *v1.Pod) (class string, ok bool) {
	return podvolumes.HintClass(pod, func(volume *v1.Volume) *v1.VolumeSource {
		if volume.PersistentVolumeClaim == nil {
			return nil
		}
		return podvolumes.Claimed(volume.PersistentVolumeClaim.ClaimName)
	})
}
