// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package nodeaffinity

import (
	"context"
	"encoding/json"
	"fmt"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// SignPod implements fwk.SignPlugin.
func (pl *plugin) SignPod(_ context.Context, pod *v1.Pod) ([]fwk.SignFragment, *fwk.Status) {
	affinity, err := fwk.NodeAffinitySigner(pod)
	if err != nil {
		return nil, fwk.AsStatus(fmt.Errorf("signing the node affinity of pod %s/%s: %w", pod.Namespace, pod.Name, err))
	}
	return []fwk.SignFragment{
		{Key: fwk.NodeAffinitySignerName, Value: affinity},
		{Key: fwk.NodeSelectorSignerName, Value: pod.Spec.NodeSelector},
	}, nil
}

// HintClass implements framework.HintClassPlugin: pods are alike if their node selectors and required node affinities
// are written alike. Preferred affinity doesn't matter.
func (pl *plugin) HintClass(pod *v1.Pod) (class string, ok bool) {
	written, err := json.Marshal(struct {
		NodeSelector map[string]string
		Required     *v1.NodeSelector
	}{pod.Spec.NodeSelector, requiredSelector(pod)})
	return string(written), err == nil
}
