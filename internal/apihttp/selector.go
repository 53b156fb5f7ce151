// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package apihttp

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// selector chooses the objects that a list or a watch is about.
type selector struct {
	namespace string
	labels    labels.Selector
	fields    fields.Selector
}

func (c *call) selector() (*selector, error) {
	chosen := &selector{namespace: c.target.Namespace}
	var err error
	if chosen.labels, err = labels.Parse(c.options.LabelSelector); err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("reading the label selector: %v", err))
	}
	if chosen.fields, err = fields.ParseSelector(c.options.FieldSelector); err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("reading the field selector: %v", err))
	}
	return chosen, nil
}

// matches reports whether an object is chosen; nil is not.
func (s *selector) matches(o Object) bool {
	return o != nil && (s.namespace == "" || o.GetNamespace() == s.namespace) &&
		(s.labels.Empty() || s.labels.Matches(labels.Set(o.GetLabels()))) &&
		(s.fields.Empty() || s.fields.Matches(fieldsOf(o)))
}

// fieldsOf returns what field selectors can ask for. Of custom kinds it is only the name and the namespace.
func fieldsOf(o Object) fields.Set {
	set := fields.Set{"metadata.name": o.GetName(), "metadata.namespace": o.GetNamespace()}
	if pod, isPod := o.(*v1.Pod); isPod {
		set["spec.nodeName"] = pod.Spec.NodeName
		set["spec.schedulerName"] = pod.Spec.SchedulerName
		set["spec.restartPolicy"] = string(pod.Spec.RestartPolicy)
		set["spec.serviceAccountName"] = pod.Spec.ServiceAccountName
		set["status.phase"] = string(pod.Status.Phase)
		set["status.nominatedNodeName"] = pod.Status.NominatedNodeName
	}
	return set
}
