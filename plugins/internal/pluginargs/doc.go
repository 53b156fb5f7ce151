// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pluginargs checks what a plugin factory receives: it turns the arguments into the type that the plugin expects,
// and looks up the informers that the plugin needs.
package pluginargs
