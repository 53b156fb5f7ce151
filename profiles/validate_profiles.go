// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package profiles

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	configv1 "k8s.io/kube-scheduler/config/v1"
)

func (c *Configuration) validateProfiles() field.ErrorList {
	path := field.NewPath("profiles")
	if len(c.Profiles) == 0 {
		return field.ErrorList{field.Required(path, "")}
	}
	var errs field.ErrorList
	names := sets.New[string]()
	for i := range c.Profiles {
		profile, path := &c.Profiles[i], path.Index(i)
		switch {
		case profile.SchedulerName == "":
			errs = append(errs, field.Required(path.Child("schedulerName"), ""))
		case names.Has(profile.SchedulerName):
			errs = append(errs, field.Duplicate(path.Child("schedulerName"), profile.SchedulerName))
		}
		names.Insert(profile.SchedulerName)
		errs = append(errs, validatePercentage(path.Child("percentageOfNodesToScore"), profile.PercentageOfNodesToScore)...)
		errs = append(errs, c.validateRemovedPlugins(i)...)
		errs = append(errs, validatePluginConfig(path.Child("pluginConfig"), profile.PluginConfig, c.features)...)
	}
	return append(errs, c.validateQueueSort()...)
}

// validateRemovedPlugins reports plugins of earlier versions.
func (c *Configuration) validateRemovedPlugins(profile int) field.ErrorList {
	var errs field.ErrorList
	for _, point := range allSets() {
		for plugin := range removedPlugins() {
			if i := c.indexAsWritten(profile, point, plugin); i >= 0 {
				path := setPath(profile, point).Child("enabled").Index(i)
				errs = append(errs, removedError(path, plugin))
			}
		}
	}
	for i, config := range c.Profiles[profile].PluginConfig {
		if _, removed := removedPlugins()[config.Name]; removed {
			errs = append(errs, removedError(field.NewPath("profiles").Index(profile).Child("pluginConfig").Index(i), config.Name))
		}
	}
	return errs
}

func removedError(path *field.Path, plugin string) *field.Error {
	return field.Invalid(path, plugin, fmt.Sprintf("was invalid in version %q (%s is version %q); use %s instead",
		configv1.SchemeGroupVersion.Version, configurationKind, configv1.SchemeGroupVersion, removedPlugins()[plugin]))
}

func setPath(profile int, point ExtensionPoint) *field.Path {
	return field.NewPath("profiles").Index(profile).Child("plugins", string(point))
}

// indexAsWritten returns the index of a plugin in the enabled list of a set, -1 if it
// is not there. It counts in the list as written where there is one, because merging
// with the defaults moves plugins.
func (c *Configuration) indexAsWritten(profile int, point ExtensionPoint, plugin string) int {
	plugins := &c.Profiles[profile].Plugins
	if c.written != nil && profile < len(c.written.Profiles) && c.written.Profiles[profile].Plugins != nil {
		plugins = c.written.Profiles[profile].Plugins
	}
	for i, entry := range setAt(plugins, point).Enabled {
		if entry.Name == plugin {
			return i
		}
	}
	return -1
}

// validatePluginConfig checks the arguments of the plugins that have a kind here.
func validatePluginConfig(path *field.Path, configs []PluginConfig, features Features) field.ErrorList {
	var errs field.ErrorList
	seen := sets.New[string]()
	for i, config := range configs {
		if seen.Has(config.Name) {
			errs = append(errs, field.Duplicate(path.Index(i), config.Name))
		}
		seen.Insert(config.Name)
		if kind, found := inTreeKind(config.Name); found {
			errs = append(errs, kind.validate(path.Index(i).Child("args"), config.Args, features)...)
		}
	}
	return errs
}

// validateQueueSort checks that all profiles sort the queue, which they share, alike.
// It sees what is set at the queueSort point, and arguments where a later profile has some; Resolve sees the rest.
func (c *Configuration) validateQueueSort() field.ErrorList {
	var errs field.ErrorList
	first := &c.Profiles[0]
	if count := len(first.Plugins.QueueSort.Enabled); count > 1 {
		errs = append(errs, field.Invalid(setPath(0, QueueSort).Child("enabled"), count, "only one queue sort plugin can be enabled"))
	}
	sorters := first.Plugins.QueueSort.Enabled
	if len(sorters) == 0 {
		sorters = []configv1.Plugin{{}} // kube-scheduler then compares what is configured for no plugin
	}
	for i := 1; i < len(c.Profiles); i++ {
		profile := &c.Profiles[i]
		if !equality.Semantic.DeepEqual(first.Plugins.QueueSort, profile.Plugins.QueueSort) {
			errs = append(errs, field.Invalid(setPath(i, QueueSort), profile.Plugins.QueueSort, "must be the same for all profiles"))
		}
		for _, plugin := range sorters {
			if args := profile.Args(plugin.Name); args != nil && !equality.Semantic.DeepEqual(first.Args(plugin.Name), args) {
				path := field.NewPath("profiles").Index(i).Child("pluginConfig")
				errs = append(errs, field.Invalid(path.Child("args"), printable(args), "queueSort must be the same for all profiles"))
			}
		}
	}
	return errs
}

// printable returns arguments in a form that is readable in an error.
func printable(args apiruntime.Object) any {
	if raw, isRaw := args.(*apiruntime.Unknown); isRaw {
		return string(raw.Raw)
	}
	return args
}
