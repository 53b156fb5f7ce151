// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"fmt"
	"maps"
	"slices"
)

// BuildError says that a plugin of a profile could not be built, or could not say for which events it waits.
type BuildError struct {
	// Profile is the scheduler name, Plugin the name in the registry.
	Profile, Plugin string
	// Err says what failed, and names the plugin.
	Err error
}

// Error implements error.
func (e *BuildError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *BuildError) Unwrap() error { return e.Err }

// RenamedPlugin is a plugin whose Name method does not return the name under which it is registered. kube-scheduler accepts
// such plugins, unless they score.
type RenamedPlugin struct {
	// Profile is the scheduler name.
	Profile string
	// Registered is the name in the registry, which configurations use; Name is what the plugin returns.
	Registered, Name string
}

// String says what follows from the two names.
func (r RenamedPlugin) String() string {
	return fmt.Sprintf("plugin %q calls itself %q: configurations must name it %q, but statuses, events, metrics and traces name it %q; "+
		"have its Name method return %q", r.Registered, r.Name, r.Registered, r.Name, r.Registered)
}

// RenamedPlugins returns the plugins of all profiles that go by two names, sorted by profile and registered name.
func (p Profiles) RenamedPlugins() []RenamedPlugin {
	var renamed []RenamedPlugin
	for _, name := range p.names() {
		renamed = append(renamed, p[name].renamedPlugins()...)
	}
	return renamed
}

// renamedPlugins is [Profiles.RenamedPlugins] for one profile.
func (f *Framework) renamedPlugins() []RenamedPlugin {
	var renamed []RenamedPlugin
	for _, registered := range slices.Sorted(maps.Keys(f.instances)) {
		if name := f.instances[registered].Name(); name != registered {
			renamed = append(renamed, RenamedPlugin{f.ProfileName(), registered, name})
		}
	}
	return renamed
}

// registeredAs returns the end of an error about a plugin that is registered under another name; empty for others.
func (f *Framework) registeredAs(name string) string {
	for _, renamed := range f.renamedPlugins() {
		if renamed.Name == name {
			return fmt.Sprintf("; it is registered as %q, which its Name method must return", renamed.Registered)
		}
	}
	return ""
}
