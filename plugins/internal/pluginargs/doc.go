// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pluginargs turns the arguments that a plugin factory receives into the type that the plugin expects.
package pluginargs
