// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package interpodaffinity

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	clientcache "k8s.io/client-go/tools/cache"
	fwk "k8s.io/kube-scheduler/framework"
)

// The indexes of the pods with required anti-affinity that are on nodes.
const (
	// antiAffinityByNode is by the name of the node.
	antiAffinityByNode = "requiredAntiAffinity.spec.nodeName"
	// antiAffinityByKey is by the topology keys of the terms.
	antiAffinityByKey = "requiredAntiAffinity.topologyKey"
)

// indexAntiAffinityPods returns the pods of an informer with the indexes, which another profile may have added.
func indexAntiAffinityPods(informer clientcache.SharedIndexInformer) (clientcache.Indexer, error) {
	indexer := informer.GetIndexer()
	if _, found := indexer.GetIndexers()[antiAffinityByNode]; found {
		return indexer, nil
	}
	err := informer.AddIndexers(clientcache.Indexers{
		antiAffinityByNode: func(object any) ([]string, error) {
			pod, terms := antiAffinityOf(object)
			if len(terms) == 0 {
				return nil, nil
			}
			return []string{pod.Spec.NodeName}, nil
		},
		antiAffinityByKey: func(object any) ([]string, error) {
			_, terms := antiAffinityOf(object)
			keys := sets.New[string]()
			for i := range terms {
				keys.Insert(terms[i].TopologyKey)
			}
			return keys.UnsortedList(), nil
		},
	})
	if err != nil {
		return nil, fmt.Errorf("indexing pods with anti-affinity: %w", err)
	}
	return indexer, nil
}

// antiAffinityOf returns a pod on a node and its required anti-affinity; no terms for everything else.
func antiAffinityOf(object any) (*v1.Pod, []v1.PodAffinityTerm) {
	pod, ok := object.(*v1.Pod)
	if !ok || pod.Spec.NodeName == "" {
		return nil, nil
	}
	return pod, fwk.GetPodAntiAffinityTerms(pod.Spec.Affinity)
}

// antiAffinityNear returns the pods that may have kept others out of the domains that a node leaves: if it is deleted, those
// on it; otherwise also those that may be elsewhere in such a domain, and kept pods off the node.
func (pl *plugin) antiAffinityNear(node *v1.Node, changed *v1.Node) ([]any, error) {
	if changed == nil {
		return pl.antiAffinityPods.ByIndex(antiAffinityByNode, node.Name)
	}
	var found []any
	for key, value := range node.Labels {
		if now, has := changed.Labels[key]; has && now == value {
			continue
		}
		withKey, err := pl.antiAffinityPods.ByIndex(antiAffinityByKey, key)
		if err != nil {
			return nil, err
		}
		found = append(found, withKey...)
	}
	return found, nil
}

// domainLeft reports whether a pod has anti-affinity to the waiting pod, and the node leaves the domain that it may have
// kept the pod out of. The changed node is nil if it is deleted.
func (pl *plugin) domainLeft(pod *v1.Pod, node *v1.Node, changed *v1.Node) (bool, error) {
	near, err := pl.antiAffinityNear(node, changed)
	if err != nil || len(near) == 0 {
		return false, err
	}
	var now map[string]string
	if changed != nil {
		now = changed.Labels
	}
	namespaceLabels, err := pl.namespaceLabels(pod.Namespace)
	if err != nil {
		return false, err
	}
	for _, object := range near {
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
