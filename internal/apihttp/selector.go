// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package apihttp

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// selector chooses the objects that a list or a watch is about.
type selector struct {
	backend   Backend
	namespace string
	labels    labels.Selector
	fields    fields.Selector
}

func (c *call) selector() (*selector, error) {
	chosen := &selector{backend: c.backend, namespace: c.target.Namespace}
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
		(s.fields.Empty() || s.fields.Matches(s.backend.Fields(o)))
}
