// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// unbuilt names what a workload needs and Rouse does not build; nothing if it builds everything. A workload that cannot be
// prepared is an error.
func (w *workload) unbuilt() (string, error) {
	steps, err := w.prepare()
	if err != nil {
		return "", err
	}
	for _, step := range steps {
		for _, m := range step.manifests {
			object, err := m.any(0)
			if err != nil {
				return "", err
			}
			if object.GetKind() != "Pod" {
				continue
			}
			if _, inGroup, _ := unstructured.NestedMap(object.Object, "spec", "schedulingGroup"); inGroup {
				return "pods in groups (spec.schedulingGroup, feature gate GenericWorkload)", nil
			}
		}
	}
	return "", nil
}
