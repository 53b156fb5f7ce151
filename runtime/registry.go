// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/profiles"
)

// PluginFactory builds one plugin of one profile. It gets the arguments that the configuration gives the plugin: the
// typed arguments of an in-tree plugin, *apiruntime.Unknown for any other (see [DecodeInto]), or nil. The factory may
// ask the handle for clients, informers and the profile's name, and should ask for the informers and listers that the plugin
// reads, as they are started after all factories have returned. Objects, nodes, other plugins and the queue are only there
// once the scheduler runs; the handle may be kept for them.
//
// It is an alias, so that a factory written for kube-scheduler is one without a conversion.
type PluginFactory = func(ctx context.Context, args apiruntime.Object, handle fwk.Handle) (fwk.Plugin, error)

// Registry holds every plugin that profiles may name. It is not safe for concurrent changes.
type Registry map[string]PluginFactory

// Register adds a plugin. It fails if the name is taken, or if there is no factory.
func (r Registry) Register(name string, factory PluginFactory) error {
	if factory == nil {
		return fmt.Errorf("plugin named %v has no factory", name)
	}
	if _, taken := r[name]; taken {
		return fmt.Errorf("a plugin named %v already exists", name)
	}
	r[name] = factory
	return nil
}

// Unregister removes a plugin. It fails if there is none of that name.
func (r Registry) Unregister(name string) error {
	if _, exists := r[name]; !exists {
		return fmt.Errorf("no plugin named %v exists", name)
	}
	delete(r, name)
	return nil
}

// Merge adds every plugin of another registry and returns the errors of all those that could not be added, by name.
func (r Registry) Merge(other Registry) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(other)) {
		errs = append(errs, r.Register(name, other[name]))
	}
	return errors.Join(errs...)
}

// enabledBy returns the plugins that a profile enables at any extension point, by name. A nil profile enables none.
func (r Registry) enabledBy(profile *profiles.Profile) iter.Seq2[string, PluginFactory] {
	return func(yield func(string, PluginFactory) bool) {
		if profile == nil {
			return
		}
		enabled := sets.New(profile.EnabledPlugins()...)
		for _, name := range slices.Sorted(maps.Keys(r)) {
			if enabled.Has(name) && !yield(name, r[name]) {
				return
			}
		}
	}
}
