// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package interpodaffinity

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	clientcache "k8s.io/client-go/tools/cache"
	fwk "k8s.io/kube-scheduler/framework"
)

// repellingByNode is the index of the pods with required anti-affinity by the name of their node.
const repellingByNode = "requiredAntiAffinity.spec.nodeName"

// indexRepelling returns the pods of an informer with the index, which another profile may have added.
func indexRepelling(informer clientcache.SharedIndexInformer) (clientcache.Indexer, error) {
	indexer := informer.GetIndexer()
	if _, found := indexer.GetIndexers()[repellingByNode]; found {
		return indexer, nil
	}
	err := informer.AddIndexers(clientcache.Indexers{repellingByNode: func(object any) ([]string, error) {
		pod, ok := object.(*v1.Pod)
		if !ok || pod.Spec.NodeName == "" || len(fwk.GetPodAntiAffinityTerms(pod.Spec.Affinity)) == 0 {
			return nil, nil
		}
		return []string{pod.Spec.NodeName}, nil
	}})
	if err != nil {
		return nil, fmt.Errorf("indexing pods with anti-affinity by node: %w", err)
	}
	return indexer, nil
}

// domainLeft tells whether a pod on a node has anti-affinity to the waiting pod, and the node now leaves the domain that
// it kept the pod out of. Now are the labels of the node, none if it is deleted.
func (pl *Plugin) domainLeft(pod *v1.Pod, node *v1.Node, now map[string]string) (bool, error) {
	onNode, err := pl.repelling.ByIndex(repellingByNode, node.Name)
	if err != nil || len(onNode) == 0 {
		return false, err
	}
	namespaceLabels, err := pl.namespaceLabels(pod.Namespace)
	if err != nil {
		return false, err
	}
	for _, object := range onNode {
		other, ok := object.(*v1.Pod)
		if !ok {
			continue
		}
		terms, err := requiredAntiAffinity(other)
		if err != nil {
			return false, err
		}
		for i := range terms {
			if terms[i].Matches(pod, namespaceLabels) && entersDomain(terms[i:i+1], now, node.Labels) {
				return true, nil
			}
		}
	}
	return false, nil
}
