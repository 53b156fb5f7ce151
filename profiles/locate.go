// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package profiles

import (
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/rouse-scheduler/rouse/internal/manifest"
)

// locate turns validation errors into errors with a position, where the
// configuration was loaded from a file.
func (c *Configuration) locate(errs field.ErrorList) manifest.ErrorList {
	var list manifest.ErrorList
	for _, err := range errs {
		list.Add(c.errorAt(err.Field, err.ErrorBody(), err))
	}
	return list
}

// Errorf returns an error about a field, such as profiles[0].pluginConfig, with its position if the configuration was
// loaded from a file. %w works as in fmt.Errorf.
func (c *Configuration) Errorf(path, format string, args ...any) *manifest.Error {
	cause := fmt.Errorf(format, args...)
	return c.errorAt(path, cause.Error(), cause)
}

func (c *Configuration) errorAt(path, message string, cause error) *manifest.Error {
	if c.document == nil {
		return &manifest.Error{File: c.Source, Field: path, Message: message, Err: cause}
	}
	located := c.document.Errorf(path, "%s", message)
	located.Err = cause
	return located
}

// locateAll adds positions to the errors of resolving a profile. Errors of a
// configuration that was not loaded from a file stay as they are.
func (c *Configuration) locateAll(profile int, err error) []error {
	errs := []error{err}
	if joined, isJoined := err.(interface{ Unwrap() []error }); isJoined {
		errs = joined.Unwrap()
	}
	for i, problem := range errs {
		var resolveError *ResolveError
		if c.document != nil && errors.As(problem, &resolveError) {
			errs[i] = c.errorAt(c.fieldOf(profile, resolveError), problem.Error(), problem)
		}
	}
	return errs
}

// fieldOf returns the field that an error of resolving a profile is about, as far
// as it was written in the file: the plugin's entry, else the plugin set, else the
// profile.
func (c *Configuration) fieldOf(profile int, problem *ResolveError) string {
	path := field.NewPath("profiles").Index(profile)
	if c.written == nil || profile >= len(c.written.Profiles) {
		return path.String()
	}
	written := &c.written.Profiles[profile]
	if problem.Set == "" {
		return path.Child("pluginConfig").String()
	}
	path = path.Child("plugins", string(problem.Set))
	if written.Plugins == nil {
		return path.String()
	}
	for i, plugin := range setAt(written.Plugins, problem.Set).Enabled {
		if plugin.Name == problem.Plugin && problem.occurrence == countBefore(setAt(written.Plugins, problem.Set).Enabled[:i], plugin.Name) {
			return path.Child("enabled").Index(i).String()
		}
	}
	return path.String()
}

// PluginField returns the field that a message about a plugin of a profile is best placed at, as far as it was written in the
// file: its arguments, else its first entry among the enabled plugins, else the profile.
func (c *Configuration) PluginField(schedulerName, plugin string) string {
	profile := slices.IndexFunc(c.Profiles, func(p Profile) bool { return p.SchedulerName == schedulerName })
	if profile < 0 {
		return "profiles"
	}
	path := field.NewPath("profiles").Index(profile)
	if c.written == nil || profile >= len(c.written.Profiles) {
		return path.String()
	}
	written := &c.written.Profiles[profile]
	if i := slices.IndexFunc(written.PluginConfig, func(p configv1.PluginConfig) bool { return p.Name == plugin }); i >= 0 {
		return path.Child("pluginConfig").Index(i).String()
	}
	if written.Plugins == nil {
		return path.String()
	}
	for _, set := range allSets() {
		enabled := setAt(written.Plugins, set).Enabled
		if i := slices.IndexFunc(enabled, func(p configv1.Plugin) bool { return p.Name == plugin }); i >= 0 {
			return path.Child("plugins", string(set), "enabled").Index(i).String()
		}
	}
	return path.String()
}

func countBefore(plugins []configv1.Plugin, name string) int {
	count := 0
	for _, plugin := range plugins {
		if plugin.Name == name {
			count++
		}
	}
	return count
}
