// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package profiles

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/rouse-scheduler/rouse/internal/manifest"
)

// checkNames reports enabled plugins that do not exist.
func (c *Configuration) checkNames(known sets.Set[string]) error {
	var errs manifest.ErrorList
	for i := range c.written.Profiles {
		plugins := c.written.Profiles[i].Plugins
		if plugins == nil {
			continue
		}
		for _, point := range allSets() {
			what := point.Interface()
			if point == multiPoint {
				what = "plugin"
			}
			for j, plugin := range setAt(plugins, point).Enabled {
				if _, removed := removedPlugins()[plugin.Name]; removed || known.Has(plugin.Name) {
					continue
				}
				path := setPath(i, point).Child("enabled").Index(j).Child("name")
				problem := c.errorAt(path.String(), fmt.Sprintf("%s %q does not exist", what, plugin.Name), nil)
				problem.Suggestion = manifest.Suggest(plugin.Name, sets.List(known))
				errs.Add(problem)
			}
		}
	}
	return errs.Err()
}

// unusedNames returns warnings about plugins that are disabled or configured, but do
// not exist: legal, and usually a misspelling.
func (c *Configuration) unusedNames(known sets.Set[string]) manifest.ErrorList {
	var warnings manifest.ErrorList
	warn := func(path *field.Path, name, what string) {
		if name == everyPlugin || known.Has(name) {
			return
		}
		warning := c.errorAt(path.Child("name").String(), fmt.Sprintf("plugin %q does not exist; %s it has no effect", name, what), nil)
		warning.Suggestion = manifest.Suggest(name, sets.List(known))
		warnings.Add(warning)
	}
	for i := range c.written.Profiles {
		profile := &c.written.Profiles[i]
		for j, config := range profile.PluginConfig {
			warn(field.NewPath("profiles").Index(i).Child("pluginConfig").Index(j), config.Name, "configuring")
		}
		if profile.Plugins == nil {
			continue
		}
		for _, point := range allSets() {
			for j, plugin := range setAt(profile.Plugins, point).Disabled {
				warn(setPath(i, point).Child("disabled").Index(j), plugin.Name, "disabling")
			}
		}
	}
	return warnings.Sorted()
}
