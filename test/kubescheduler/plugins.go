// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kubescheduler has the in-tree plugins of kube-scheduler in the form in which Rouse takes plugins.
package kubescheduler

import (
	"context"
	"fmt"

	apiruntime "k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"
	upstreamconfig "k8s.io/kubernetes/pkg/scheduler/apis/config"
	upstreamscheme "k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	upstreamplugins "k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/metrics"

	"github.com/rouse-scheduler/rouse/runtime"
)

// Plugins returns the in-tree plugins. They take the arguments of the official module, such as
// *configv1.NodeResourcesFitArgs, and run in either framework.
func Plugins() runtime.Registry {
	metrics.Register() // some plugins use metrics that are nil before that
	registry := runtime.Registry{}
	for name, factory := range upstreamplugins.NewInTreeRegistry() {
		registry[name] = func(ctx context.Context, args apiruntime.Object, handle fwk.Handle) (fwk.Plugin, error) {
			if args == nil {
				return factory(ctx, nil, handle)
			}
			internal, err := Arguments(args)
			if err != nil {
				return nil, err
			}
			return factory(ctx, internal, handle)
		}
	}
	return registry
}

// Arguments converts arguments of the official module to the type that kube-scheduler's factories take.
func Arguments(args apiruntime.Object) (apiruntime.Object, error) {
	internal, err := upstreamscheme.Scheme.ConvertToVersion(args, upstreamconfig.SchemeGroupVersion)
	if err != nil {
		return nil, fmt.Errorf("converting %T for kube-scheduler: %w", args, err)
	}
	return internal, nil
}
