// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package extender

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
)

// Bind implements fwk.Extender: the extender tells the API server where the pod goes. It is an error if the extender
// does not bind.
func (e *Extender) Bind(binding *v1.Binding) error {
	if !e.IsBinder() {
		return fmt.Errorf("extender %s has no bindVerb, so it can't bind pod %s/%s", e.Name(), binding.Namespace, binding.Name)
	}
	result, err := call[extenderv1.ExtenderBindingResult](e, e.settings.BindVerb, &extenderv1.ExtenderBindingArgs{
		PodName:      binding.Name,
		PodNamespace: binding.Namespace,
		PodUID:       binding.UID,
		Node:         binding.Target.Name,
	})
	if err != nil {
		return err
	}
	if result.Error != "" {
		return e.ownError(e.settings.BindVerb, result.Error)
	}
	return nil
}
