// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package interpodaffinity

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	fwk "k8s.io/kube-scheduler/framework"
)

// requiredTerms parses what a pod requires. Namespaces that it selects by label are not looked up.
func requiredTerms(pod *v1.Pod) (affinity, antiAffinity []fwk.AffinityTerm, err error) {
	affinity, err = fwk.GetAffinityTerms(pod, fwk.GetPodAffinityTerms(pod.Spec.Affinity))
	if err != nil {
		return nil, nil, fmt.Errorf("required pod affinity of pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	antiAffinity, err = requiredAntiAffinity(pod)
	return affinity, antiAffinity, err
}

// requiredAntiAffinity parses what a pod wants to stay away from.
func requiredAntiAffinity(pod *v1.Pod) ([]fwk.AffinityTerm, error) {
	terms, err := fwk.GetAffinityTerms(pod, fwk.GetPodAntiAffinityTerms(pod.Spec.Affinity))
	if err != nil {
		return nil, fmt.Errorf("required pod anti-affinity of pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	return terms, nil
}

// namespaceLabels returns the labels of a namespace, none if it is not known.
func (pl *plugin) namespaceLabels(name string) (labels.Set, error) {
	namespace, err := pl.namespaces.Get(name)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("looking up the labels of namespace %s: %w", name, err)
	}
	return namespace.Labels, nil
}

// matchesAll reports whether a pod matches every term, of which there has to be one. The labels are those of the pod's
// namespace.
func matchesAll(terms []fwk.AffinityTerm, pod *v1.Pod, namespaceLabels labels.Set) bool {
	for i := range terms {
		if !terms[i].Matches(pod, namespaceLabels) {
			return false
		}
	}
	return len(terms) > 0
}

func matchesAny(terms []fwk.AffinityTerm, pod *v1.Pod, namespaceLabels labels.Set) bool {
	for i := range terms {
		if terms[i].Matches(pod, namespaceLabels) {
			return true
		}
	}
	return false
}
