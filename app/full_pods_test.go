// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"testing"

	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/rouse-scheduler/rouse/plugins"
	"github.com/rouse-scheduler/rouse/profiles"
)

func TestWhoReadsFullPods(t *testing.T) {
	for name, test := range map[string]struct {
		extender configv1.Extender
		plugin   string
		want     bool
	}{
		"no one":                                  {},
		"an extender that filters":                {extender: configv1.Extender{FilterVerb: "filter"}},
		"an extender that preempts":               {extender: configv1.Extender{PreemptVerb: "preempt"}, want: true},
		"an extender that preempts, with a cache": {extender: configv1.Extender{PreemptVerb: "preempt", NodeCacheCapable: true}},
		"a plugin that is not in the tree":        {plugin: "Mine", want: true},
		"a plugin in the tree under its own name": {plugin: "NodeName"},
	} {
		t.Run(name, func(t *testing.T) {
			config, registry := profiles.Default(), plugins.NewInTreeRegistry()
			config.Extenders = []configv1.Extender{test.extender}
			if test.plugin != "" {
				registry[test.plugin] = registry["NodeName"]
			}
			if got := readsFullPods(config, registry); got != test.want {
				t.Errorf("readsFullPods = %v, want %v", got, test.want)
			}
		})
	}
}
