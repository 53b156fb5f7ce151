// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime_test

import (
	"testing"

	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/runtime"
)

// BenchmarkRunFilterPlugins asks ten plugins about a node, as an embedder's.
func BenchmarkRunFilterPlugins(b *testing.B) {
	var plugins []fwk.Plugin
	var names []string
	for i := range 10 {
		names = append(names, string(rune('A'+i)))
		plugins = append(plugins, filterOnly{names[i]})
	}
	f := build(b, runtime.Options{}, func(p *configv1.Plugins) { p.Filter = enabled(names...) }, plugins...)
	state, pod, node := newState(), objects.Pod("p").Build(), newNode("n")
	for b.Loop() {
		f.RunFilterPlugins(b.Context(), state, pod, node)
	}
}
