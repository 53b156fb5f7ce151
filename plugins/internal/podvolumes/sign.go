// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package podvolumes

import (
	"encoding/json"
	"slices"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// Sign returns the official signature of the volumes of a pod, which all plugins for volumes share. It has the names of
// claims without their namespace, and ephemeral volumes without the claims made for them, so that pods with
// the same signature may still use different claims.
func Sign(pod *v1.Pod) []fwk.SignFragment {
	return []fwk.SignFragment{{Key: fwk.VolumesSignerName, Value: fwk.VolumesSigner(pod)}}
}

// HintClass puts pods into one class if they are in the same namespace and have the same volumes, of which only counts
// what read returns; nil leaves a volume out. The order of volumes does not count.
func HintClass(pod *v1.Pod, read func(volume *v1.Volume) *v1.VolumeSource) (class string, ok bool) {
	var volumes []string
	for i := range pod.Spec.Volumes {
		part := read(&pod.Spec.Volumes[i])
		if part == nil {
			continue
		}
		written, err := json.Marshal(part)
		if err != nil {
			return "", false
		}
		volumes = append(volumes, string(written))
	}
	slices.Sort(volumes)
	written, err := json.Marshal(append([]string{pod.Namespace}, slices.Compact(volumes)...))
	return string(written), err == nil
}

// Claimed is a volume source that names a claim and nothing else, for [HintClass].
func Claimed(name string) *v1.VolumeSource {
	return &v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: name}}
}

// Made is a volume source that stands for the claim made for an ephemeral volume, for [HintClass]. It differs from one
// that names the claim.
func Made(claim string) *v1.VolumeSource {
	template := &v1.PersistentVolumeClaimTemplate{}
	template.Name = claim
	return &v1.VolumeSource{Ephemeral: &v1.EphemeralVolumeSource{VolumeClaimTemplate: template}}
}
