// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// PodDisruptionBudget returns a budget of the namespace default for the pods that the selector matches, a text such as
// "app=web". So many of them may be disrupted now.
func PodDisruptionBudget(name, selector string, allowed int32) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: metav1.NamespaceDefault, Name: name, UID: types.UID(metav1.NamespaceDefault + "/" + name),
		},
		Spec:   policyv1.PodDisruptionBudgetSpec{Selector: labelSelector(selector)},
		Status: policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed},
	}
}
