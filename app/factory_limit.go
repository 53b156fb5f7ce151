// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	goruntime "runtime"
	"time"

	apiruntime "k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/runtime"
)

// factoryLimit is how long in real time a factory may take that builds a plugin only to be looked at, or asked.
const factoryLimit = 5 * time.Second

// limited returns a registry whose factories fail when they do not return in time. One that waits for an informer with types of
// its own waits forever where its kind is not known: the answers to its lists do not have the type that it expects.
func limited(registry runtime.Registry) runtime.Registry {
	all := runtime.Registry{}
	for name, factory := range registry {
		all[name] = func(ctx context.Context, args apiruntime.Object, handle fwk.Handle) (fwk.Plugin, error) {
			return buildInTime(ctx, factory, args, handle)
		}
	}
	return all
}

// buildInTime calls a factory in a goroutine of its own, which goes on if the factory does not return.
func buildInTime(ctx context.Context, factory runtime.PluginFactory, args apiruntime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	type result struct {
		plugin   fwk.Plugin
		err      error
		panicked any
		returned bool // false also if the factory ended its goroutine
	}
	done := make(chan result, 1)
	go func() {
		var built result
		defer func() {
			built.panicked = recover()
			done <- built
		}()
		built.plugin, built.err = factory(ctx, args, handle)
		built.returned = true
	}()
	select {
	case built := <-done:
		if built.panicked != nil {
			panic(built.panicked)
		}
		if !built.returned {
			goruntime.Goexit() // as it did; whoever builds plugins notices
		}
		return built.plugin, built.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-time.After(factoryLimit):
		return nil, fmt.Errorf("the factory did not return within %v; if it waits for informers of custom resources, "+
			"pass a scheme with their types to app.NewSchedulerCommandWithScheme, or wait in the methods of the plugin", factoryLimit)
	}
}
