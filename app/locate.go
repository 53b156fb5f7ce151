// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"

	apiruntime "k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/internal/manifest"
	"github.com/rouse-scheduler/rouse/profiles"
	"github.com/rouse-scheduler/rouse/runtime"
)

// factoryRecorder remembers which factories failed.
type factoryRecorder struct {
	failures []factoryFailure
}

type factoryFailure struct {
	profile, plugin string
	err             error
}

func (r *factoryRecorder) wrap(registry runtime.Registry) runtime.Registry {
	wrapped := make(runtime.Registry, len(registry))
	for name, factory := range registry {
		wrapped[name] = func(ctx context.Context, args apiruntime.Object, handle fwk.Handle) (fwk.Plugin, error) {
			plugin, err := factory(ctx, args, handle)
			if err != nil {
				r.failures = append(r.failures, factoryFailure{handle.ProfileName(), name, err})
			}
			return plugin, err
		}
	}
	return wrapped
}

// locate adds positions in the file to the error with which plugins could not be built or put at their extension points,
// as far as they are known.
func locate(ctx context.Context, err error, config *profiles.Configuration, registry runtime.Registry, failures []factoryFailure) error {
	if config.Source == "" {
		return err
	}
	var misplaced *profiles.ResolveError
	if errors.As(err, &misplaced) {
		known, describeErr := describePlugins(ctx, config, registry)
		if _, located := config.Resolve(known.implements, nil); describeErr == nil && located != nil {
			return located
		}
	}
	unheard := eventResourceErrors(err)
	if len(failures)+len(unheard) == 0 {
		return fmt.Errorf("%s: %w", config.Source, err)
	}
	var errs manifest.ErrorList
	for _, failure := range failures {
		errs.Add(config.Errorf(fieldOf(config, failure), "initializing plugin %q: %w", failure.plugin, failure.err))
	}
	for _, problem := range unheard {
		errs.Add(config.Errorf(fieldOf(config, factoryFailure{profile: problem.Profile, plugin: problem.Plugin}), "%w", problem))
	}
	return errs.Err()
}

// eventResourceErrors returns those that an error joins or wraps.
func eventResourceErrors(err error) []*runtime.EventResourceError {
	switch wrapping := err.(type) {
	case *runtime.EventResourceError:
		return []*runtime.EventResourceError{wrapping}
	case interface{ Unwrap() error }:
		return eventResourceErrors(wrapping.Unwrap())
	case interface{ Unwrap() []error }:
		var all []*runtime.EventResourceError
		for _, joined := range wrapping.Unwrap() {
			all = append(all, eventResourceErrors(joined)...)
		}
		return all
	}
	return nil
}

// fieldOf returns where a plugin has its arguments; the profile if it has none.
func fieldOf(config *profiles.Configuration, failure factoryFailure) string {
	for i := range config.Profiles {
		if config.Profiles[i].SchedulerName != failure.profile {
			continue
		}
		for j := range config.Profiles[i].PluginConfig {
			if config.Profiles[i].PluginConfig[j].Name == failure.plugin {
				return fmt.Sprintf("profiles[%d].pluginConfig[%d]", i, j)
			}
		}
		return fmt.Sprintf("profiles[%d]", i)
	}
	return "profiles"
}
