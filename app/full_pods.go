// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"slices"

	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/rouse-scheduler/rouse/plugins"
	"github.com/rouse-scheduler/rouse/profiles"
	"github.com/rouse-scheduler/rouse/runtime"
)

// readsFullPods reports whether more of pods with a node may be read than the in-tree plugins read: by plugins of the
// program's own, or by an extender that is sent the victims of a preemption.
func readsFullPods(config *profiles.Configuration, registry runtime.Registry) bool {
	inTree := plugins.NewInTreeRegistry()
	for name := range registry {
		if _, ok := inTree[name]; !ok {
			return true
		}
	}
	return slices.ContainsFunc(config.Extenders, func(e configv1.Extender) bool {
		return e.PreemptVerb != "" && !e.NodeCacheCapable
	})
}
