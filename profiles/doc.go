// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package profiles loads KubeSchedulerConfiguration files, version
// kubescheduler.config.k8s.io/v1, and works out which plugins a profile runs.
//
// [Load] and [Parse] read a file strictly, fill in every default, merge the plugin sets of each profile with the
// default plugins and validate the result. All errors are returned at once, with file, line, column and field:
//
//	scheduler.yaml:7:5: profiles[0].plugnis: unknown field; did you mean "plugins"?
//
// [Default] is the configuration of a scheduler that was given no file.
//
// # From plugin sets to plugins
//
// The default plugins are enabled at MultiPoint, which stands for every extension
// point that a plugin implements; see [DefaultPlugins]. What a profile runs at one
// extension point depends on what the plugins implement, and is worked out by
// [Profile.Resolve] when the plugins are known. Settings at an extension point win
// over those at MultiPoint, those of the user over the defaults, and enabling a
// plugin over disabling it.
//
// # Plugin arguments
//
// The arguments of in-tree plugins are decoded strictly into the types of
// k8s.io/kube-scheduler/config/v1 and defaulted. Plugins from elsewhere get their
// arguments as *runtime.Unknown with JSON in it, or typed if Options.Scheme has a
// kind for them. The constructors of plugins that are built without a configuration
// file can check their arguments with the Validate functions.
//
// A Configuration may be read by several goroutines; changing it is up to the one
// that loaded it, before it is handed on.
package profiles
