// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package interpodaffinity

import (
	"context"
	"encoding/json"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

const reasonAffinity = "pods with InterPodAffinity are not signable"

// SignPod implements fwk.SignPlugin. A pod with any affinity to pods is refused: which domains that is about changes with
// every pod that is placed. Of other pods the labels count, because terms of pods on nodes may match them, unless the
// profile ignores preferences of those pods.
func (pl *plugin) SignPod(_ context.Context, pod *v1.Pod) ([]fwk.SignFragment, *fwk.Status) {
	if affinity := pod.Spec.Affinity; affinity != nil && (affinity.PodAffinity != nil || affinity.PodAntiAffinity != nil) {
		return nil, fwk.NewStatus(fwk.Unschedulable, reasonAffinity)
	}
	if pl.ownPreferencesOnly {
		return nil, nil
	}
	return []fwk.SignFragment{{Key: fwk.LabelsSignerName, Value: pod.Labels}}, nil
}

// HintClass implements framework.HintClassPlugin: pods of a namespace are alike if they have the same labels and their
// required terms are written alike. Preferred terms don't matter.
func (pl *plugin) HintClass(pod *v1.Pod) (class string, ok bool) {
	written, err := json.Marshal(struct {
		Namespace    string
		Labels       map[string]string    `json:",omitempty"`
		Affinity     []v1.PodAffinityTerm `json:",omitempty"`
		AntiAffinity []v1.PodAffinityTerm `json:",omitempty"`
	}{
		pod.Namespace, pod.Labels,
		fwk.GetPodAffinityTerms(pod.Spec.Affinity), fwk.GetPodAntiAffinityTerms(pod.Spec.Affinity),
	})
	return string(written), err == nil
}
