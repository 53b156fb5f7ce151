// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package notbuilt

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"
)

// InterPodAffinity is the name of a plugin.
const InterPodAffinity = "InterPodAffinity"

const requiredTerms = "requiredDuringSchedulingIgnoredDuringExecution"

// NewInterPodAffinity builds the stand-in for InterPodAffinity; arguments are not used. Through the handle it protects
// pods that are on a node already: where one has required anti-affinity that may match a pod, that pod is rejected.
func NewInterPodAffinity(_ context.Context, _ apiruntime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	find := func(pod *v1.Pod) (*need, error) {
		if found := requiredOfPod(pod); found != nil {
			return found, nil
		}
		return requiredOfOthers(handle, pod)
	}
	return &scoring{standIn: standIn{name: InterPodAffinity, find: find}}, nil
}

func requiredOfPod(pod *v1.Pod) *need {
	if len(fwk.GetPodAffinityTerms(pod.Spec.Affinity)) > 0 {
		return &need{what: "has required pod affinity", field: "spec.affinity.podAffinity." + requiredTerms}
	}
	if len(fwk.GetPodAntiAffinityTerms(pod.Spec.Affinity)) > 0 {
		return &need{what: "has required pod anti-affinity", field: "spec.affinity.podAntiAffinity." + requiredTerms}
	}
	return nil
}

func requiredOfOthers(handle fwk.Handle, pod *v1.Pod) (*need, error) {
	snapshot := handle.SnapshotSharedLister()
	if snapshot == nil {
		return nil, nil
	}
	nodes, err := snapshot.NodeInfos().HavePodsWithRequiredAntiAffinityList()
	if err != nil {
		return nil, fmt.Errorf("listing the nodes whose pods have required anti-affinity: %w", err)
	}
	for _, node := range nodes {
		for _, other := range node.GetPodsWithRequiredAntiAffinity() {
			for _, term := range other.GetRequiredAntiAffinityTerms() {
				if mayMatch(&term, pod) {
					placed := other.GetPod()
					return &need{
						what:  fmt.Sprintf("is matched by the required pod anti-affinity of pod %s/%s on a node", placed.Namespace, placed.Name),
						field: "spec.affinity.podAntiAffinity." + requiredTerms + " of that pod",
					}, nil
				}
			}
		}
	}
	return nil, nil
}

// mayMatch tells whether a term can match a pod. It doesn't look at labels of namespaces: a term that selects namespaces
// by label may match in every namespace.
func mayMatch(term *fwk.AffinityTerm, pod *v1.Pod) bool {
	_, byLabels := term.NamespaceSelector.Requirements()
	return (byLabels || term.Namespaces.Has(pod.Namespace)) && term.Selector.Matches(labels.Set(pod.Labels))
}
