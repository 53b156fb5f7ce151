// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	v1 "k8s.io/api/core/v1"
)

// PluginFailure is a mistake of a plugin that is not, or not only, the status of an attempt: a panic, a goroutine that it
// ended, or an error where no pod fails by it, such as of PreEnqueue.
type PluginFailure struct {
	Plugin string
	Method Method
	// Pod is what the call was about; nil if it was about none.
	Pod *v1.Pod
	// Err says what happened; a [*PanicError] names plugin and method itself.
	Err error
}

// report tells whoever asked for failures of plugins.
func (f *Framework) report(method Method, plugin string, pod *v1.Pod, err error) {
	if f.options.PluginFailed != nil {
		f.options.PluginFailed(PluginFailure{Plugin: plugin, Method: method, Pod: pod, Err: err})
	}
}
