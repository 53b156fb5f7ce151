// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package notbuilt

import (
	"context"

	apiruntime "k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"
)

// DefaultPreemption is the name of a plugin.
const DefaultPreemption = "DefaultPreemption"

// defaultPreemption never makes room for a pod.
type defaultPreemption struct {
	noPreEnqueue
	noPostFilter
}

var (
	_ fwk.PreEnqueuePlugin         = &defaultPreemption{}
	_ fwk.PostFilterPlugin         = &defaultPreemption{}
	_ fwk.PodGroupPostFilterPlugin = &defaultPreemption{}
	_ fwk.EnqueueExtensions        = &defaultPreemption{}
)

// NewDefaultPreemption builds the stand-in for DefaultPreemption; arguments and handle are not used.
func NewDefaultPreemption(context.Context, apiruntime.Object, fwk.Handle) (fwk.Plugin, error) {
	return &defaultPreemption{}, nil
}

// Name implements fwk.Plugin.
func (p *defaultPreemption) Name() string { return DefaultPreemption }

// EventsToRegister implements fwk.EnqueueExtensions: none, because no pod is ever held back for a preemption.
func (p *defaultPreemption) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return nil, nil
}
