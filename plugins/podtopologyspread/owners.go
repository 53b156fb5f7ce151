// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package podtopologyspread

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	appslisters "k8s.io/client-go/listers/apps/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
)

// owners knows the services and controllers that pods belong to.
type owners struct {
	services     corelisters.ServiceLister
	controllers  corelisters.ReplicationControllerLister
	replicaSets  appslisters.ReplicaSetLister
	statefulSets appslisters.StatefulSetLister
}

func newOwners(factory informers.SharedInformerFactory) *owners {
	return &owners{
		services:     factory.Core().V1().Services().Lister(),
		controllers:  factory.Core().V1().ReplicationControllers().Lister(),
		replicaSets:  factory.Apps().V1().ReplicaSets().Lister(),
		statefulSets: factory.Apps().V1().StatefulSets().Lister(),
	}
}

// selector returns what selects the pods that belong together with a pod: those that all its services and its controller
// select. It is empty if the pod has neither. What can't be found or parsed is left out.
func (o *owners) selector(pod *v1.Pod) labels.Selector {
	values := o.ofServices(pod)
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil {
		return labels.SelectorFromSet(values)
	}
	group, err := schema.ParseGroupVersion(owner.APIVersion)
	if err != nil {
		return labels.SelectorFromSet(values)
	}
	var ofController *metav1.LabelSelector
	switch group.WithKind(owner.Kind) {
	case v1.SchemeGroupVersion.WithKind("ReplicationController"):
		if controller, err := o.controllers.ReplicationControllers(pod.Namespace).Get(owner.Name); err == nil {
			maps.Copy(values, controller.Spec.Selector)
		}
	case appsv1.SchemeGroupVersion.WithKind("ReplicaSet"):
		if set, err := o.replicaSets.ReplicaSets(pod.Namespace).Get(owner.Name); err == nil {
			ofController = set.Spec.Selector
		}
	case appsv1.SchemeGroupVersion.WithKind("StatefulSet"):
		if set, err := o.statefulSets.StatefulSets(pod.Namespace).Get(owner.Name); err == nil {
			ofController = set.Spec.Selector
		}
	}
	return narrowed(labels.SelectorFromSet(values), ofController)
}

// ofServices merges the selectors of the services that select a pod. A service without a selector adds nothing.
func (o *owners) ofServices(pod *v1.Pod) labels.Set {
	values := labels.Set{}
	services, err := o.services.Services(pod.Namespace).List(labels.Everything())
	if err != nil {
		return values
	}
	for _, service := range services {
		if labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(pod.Labels)) {
			maps.Copy(values, service.Spec.Selector)
		}
	}
	return values
}

// narrowed adds the requirements of a selector as it is written, if it can be parsed and can match anything.
func narrowed(selector labels.Selector, written *metav1.LabelSelector) labels.Selector {
	parsed, err := metav1.LabelSelectorAsSelector(written)
	if err != nil {
		return selector
	}
	requirements, _ := parsed.Requirements()
	return selector.Add(requirements...)
}
