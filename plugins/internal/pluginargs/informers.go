// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package pluginargs

import (
	"fmt"

	"k8s.io/client-go/informers"
	fwk "k8s.io/kube-scheduler/framework"
)

// Informers returns the informer factory of the handle that a plugin is built with. It fails if there is none: without
// the objects that the plugin reads it would place pods wrongly, and without an error. What names these objects for
// the error.
func Informers(plugin, what string, handle fwk.Handle) (informers.SharedInformerFactory, error) {
	if handle != nil {
		if factory := handle.SharedInformerFactory(); factory != nil {
			return factory, nil
		}
	}
	return nil, fmt.Errorf("plugin %s reads %s and needs an informer factory: set the option InformerFactory of the framework, "+
		"to informers.NewSharedInformerFactory(client, 0) if pods are scheduled, or with a nil client if not", plugin, what)
}
