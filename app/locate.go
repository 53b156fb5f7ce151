// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/rouse-scheduler/rouse/internal/manifest"
	"github.com/rouse-scheduler/rouse/profiles"
	"github.com/rouse-scheduler/rouse/runtime"
)

// locate adds positions in the file to the errors with which plugins could not be built or put at their extension points,
// as far as they are known.
func locate(ctx context.Context, err error, config *profiles.Configuration, registry pluginSet) error {
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
	var located manifest.ErrorList
	for _, unbuilt := range allOf[*runtime.BuildError](err) {
		at := config.PluginField(unbuilt.Profile, unbuilt.Plugin)
		invalid := allOf[*field.Error](unbuilt)
		for _, argument := range invalid {
			located.Add(config.Errorf(at+".args."+argument.Field, "initializing plugin %q: %w", unbuilt.Plugin, argument))
		}
		if len(invalid) == 0 {
			located.Add(config.Errorf(at, "%w", unbuilt))
		}
	}
	for _, unheard := range allOf[*runtime.EventResourceError](err) {
		located.Add(config.Errorf(config.PluginField(unheard.Profile, unheard.Plugin), "%w", unheard))
	}
	if len(located) == 0 {
		return fmt.Errorf("%s: %w", config.Source, err)
	}
	return located.Err()
}

// renamedPlugins returns a warning for each plugin that goes by two names.
func renamedPlugins(config *profiles.Configuration, built runtime.Profiles) []error {
	var warnings []error
	for _, renamed := range built.RenamedPlugins() {
		warnings = append(warnings, config.Errorf(config.PluginField(renamed.Profile, renamed.Registered), "%v", renamed))
	}
	return warnings
}

// allOf returns the errors of a type that an error joins or wraps.
func allOf[E error](err error) []E {
	switch wrapping := err.(type) {
	case E:
		return []E{wrapping}
	case interface{ Unwrap() error }:
		return allOf[E](wrapping.Unwrap())
	case interface{ Unwrap() []error }:
		return allOfEach[E](wrapping.Unwrap())
	case interface{ Errors() []error }: // an aggregate of apimachinery
		return allOfEach[E](wrapping.Errors())
	}
	return nil
}

func allOfEach[E error](joined []error) []E {
	var all []E
	for _, err := range joined {
		all = append(all, allOf[E](err)...)
	}
	return all
}
