// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"context"
	"errors"
	"fmt"

	apiruntime "k8s.io/apimachinery/pkg/runtime"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugins/defaultbinder"
	"github.com/rouse-scheduler/rouse/plugins/prioritysort"
	"github.com/rouse-scheduler/rouse/profiles"
	"github.com/rouse-scheduler/rouse/runtime"
)

// subject is the plugin under test.
type subject struct {
	name    string
	factory runtime.PluginFactory
	args    apiruntime.Object
	// built is the latest instance.
	built fwk.Plugin
}

func newSubject(name string, factory runtime.PluginFactory, options *Options) (*subject, error) {
	if factory == nil {
		return nil, fmt.Errorf("plugin %q has no factory", name)
	}
	args, err := options.arguments()
	return &subject{name: name, factory: factory, args: args}, err
}

// New is the factory of the subject.
func (s *subject) New(ctx context.Context, args apiruntime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	built, err := s.factory(ctx, args, handle)
	if err != nil {
		return nil, err
	}
	if built == nil {
		return nil, errors.New("the factory returned no plugin")
	}
	s.built = built
	if own := built.Name(); own != s.name {
		return nil, fmt.Errorf("the plugin calls itself %q; it must be registered under that name", own)
	}
	return built, nil
}

// inPlaceOfSorter calls build, and calls it again, with the sorter left out, if it failed with a subject that sorts the
// queue itself: no profile may have two such plugins, and only an instance says whether it is one.
func (s *subject) inPlaceOfSorter(build func(leftOut string) error) error {
	err := build("")
	if _, sorts := s.built.(fwk.QueueSortPlugin); err != nil && sorts && s.name != prioritysort.Name {
		return build(prioritysort.Name)
	}
	return err
}

// enable adds the subject to a profile, before the binder, so that it comes first if it binds.
func (s *subject) enable(profile *profiles.Profile, leftOut string) {
	var enabled []configv1.Plugin
	for _, plugin := range profile.Plugins.MultiPoint.Enabled {
		if plugin.Name == s.name || plugin.Name == leftOut {
			continue
		}
		if plugin.Name == defaultbinder.Name {
			enabled = append(enabled, configv1.Plugin{Name: s.name})
		}
		enabled = append(enabled, plugin)
	}
	if s.name == defaultbinder.Name {
		enabled = append(enabled, configv1.Plugin{Name: s.name})
	}
	profile.Plugins.MultiPoint.Enabled = enabled
	profile.PluginConfig = append(profile.PluginConfig, profiles.PluginConfig{Name: s.name, Args: s.args})
}

// framework builds the subject alone, but for the plugins that every profile needs.
func (s *subject) framework(ctx context.Context, options runtime.Options) (*runtime.Framework, error) {
	registry := neededRegistry()
	registry[s.name] = s.New
	var built *runtime.Framework
	err := s.inPlaceOfSorter(func(leftOut string) error {
		profile := &oneProfile(prioritysort.Name, defaultbinder.Name).Profiles[0]
		s.enable(profile, leftOut)
		var err error
		built, err = runtime.NewFramework(ctx, registry, profile, options)
		return err
	})
	return built, err
}
