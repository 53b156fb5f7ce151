// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package podtopologyspread

import (
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	appslisters "k8s.io/client-go/listers/apps/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/rouse-scheduler/rouse/framework"
)

// owners knows the services and controllers that pods belong to.
type owners struct {
	services     clientcache.Indexer
	controllers  corelisters.ReplicationControllerLister
	replicaSets  appslisters.ReplicaSetLister
	statefulSets appslisters.StatefulSetLister
}

func newOwners(factory informers.SharedInformerFactory) (*owners, error) {
	services, err := indexServices(factory.Core().V1().Services().Informer())
	if err != nil {
		return nil, err
	}
	return &owners{
		services:     services,
		controllers:  factory.Core().V1().ReplicationControllers().Lister(),
		replicaSets:  factory.Apps().V1().ReplicaSets().Lister(),
		statefulSets: factory.Apps().V1().StatefulSets().Lister(),
	}, nil
}

// servicesByLabel is the index of services by one of the labels that they select, so that only services that may select a
// pod are looked at.
const servicesByLabel = "spec.selector"

// indexServices returns the services of an informer with the index, which another profile may have added.
func indexServices(informer clientcache.SharedIndexInformer) (clientcache.Indexer, error) {
	indexer := informer.GetIndexer()
	if _, found := indexer.GetIndexers()[servicesByLabel]; found {
		return indexer, nil
	}
	err := informer.AddIndexers(clientcache.Indexers{servicesByLabel: func(object any) ([]string, error) {
		service, ok := object.(*v1.Service)
		if !ok || len(service.Spec.Selector) == 0 { // one without a selector adds nothing
			return nil, nil
		}
		first, found := "", false
		for name := range service.Spec.Selector {
			if !found || name < first {
				first, found = name, true
			}
		}
		return []string{string(appendLabel(nil, service.Namespace, first, service.Spec.Selector[first]))}, nil
	}})
	if err != nil {
		return nil, fmt.Errorf("indexing services by what they select: %w", err)
	}
	return indexer, nil
}

func appendLabel(key []byte, namespace, name, value string) []byte {
	key = framework.AppendKeyString(key, namespace)
	return framework.AppendKeyString(framework.AppendKeyString(key, name), value)
}

// selectorOf returns what selects the pods that belong together with a pod: those that all its services and its controller
// select. It is empty if the pod has neither. What can't be found is left out.
func (o *owners) selectorOf(pod *v1.Pod) ownerSelector {
	found := ownerSelector{values: o.ofServices(pod)}
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil {
		return found
	}
	group, err := schema.ParseGroupVersion(owner.APIVersion)
	if err != nil {
		return found
	}
	switch group.WithKind(owner.Kind) {
	case v1.SchemeGroupVersion.WithKind("ReplicationController"):
		if controller, err := o.controllers.ReplicationControllers(pod.Namespace).Get(owner.Name); err == nil {
			found.add(controller.Spec.Selector)
		}
	case appsv1.SchemeGroupVersion.WithKind("ReplicaSet"):
		if set, err := o.replicaSets.ReplicaSets(pod.Namespace).Get(owner.Name); err == nil {
			found.ofController = set.Spec.Selector
		}
	case appsv1.SchemeGroupVersion.WithKind("StatefulSet"):
		if set, err := o.statefulSets.StatefulSets(pod.Namespace).Get(owner.Name); err == nil {
			found.ofController = set.Spec.Selector
		}
	}
	return found
}

// ofServices merges the selectors of the services that select a pod.
func (o *owners) ofServices(pod *v1.Pod) labels.Set {
	var values ownerSelector
	var room [128]byte
	for name, value := range pod.Labels {
		services, err := o.services.ByIndex(servicesByLabel, string(appendLabel(room[:0], pod.Namespace, name, value)))
		if err != nil {
			continue
		}
		for _, object := range services {
			if service, ok := object.(*v1.Service); ok && hasLabels(pod, service.Spec.Selector) {
				values.add(service.Spec.Selector)
			}
		}
	}
	return values.values
}

// hasLabels reports whether a pod has all of the labels.
func hasLabels(pod *v1.Pod, wanted map[string]string) bool {
	for name, value := range wanted {
		if own, ok := pod.Labels[name]; !ok || own != value {
			return false
		}
	}
	return true
}

// ownerSelector is what selects the pods that belong together where constraints don't say.
type ownerSelector struct {
	values       labels.Set
	ofController *metav1.LabelSelector
}

func (s *ownerSelector) add(values map[string]string) {
	if s.values == nil {
		s.values = make(labels.Set, len(values))
	}
	maps.Copy(s.values, values)
}

// empty reports whether nothing is selected for certain.
func (s *ownerSelector) empty() bool {
	return len(s.values) == 0 && (s.ofController == nil || len(s.ofController.MatchLabels)+len(s.ofController.MatchExpressions) == 0)
}

// selector parses the selection. A selector of a controller that can't be parsed is left out.
func (s *ownerSelector) selector() labels.Selector {
	selector := labels.SelectorFromSet(s.values)
	parsed, err := metav1.LabelSelectorAsSelector(s.ofController)
	if err != nil {
		return selector
	}
	requirements, _ := parsed.Requirements()
	return selector.Add(requirements...)
}
