// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	apiruntime "k8s.io/apimachinery/pkg/runtime"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/inspect"
	"github.com/rouse-scheduler/rouse/plugins"
	"github.com/rouse-scheduler/rouse/profiles"
)

// TestFactoriesThatWaitForever has a factory that waits for something that never comes, such as an informer of a kind that the
// command does not know. Commands that only look at plugins say so.
func TestFactoriesThatWaitForever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		synced := make(chan struct{})
		defer close(synced)
		registry := pluginSet{Registry: plugins.NewInTreeRegistry()}
		registry.Registry["Patient"] = func(context.Context, apiruntime.Object, fwk.Handle) (fwk.Plugin, error) {
			<-synced
			return nil, nil
		}
		config := profiles.Default()
		config.Profiles[0].Plugins.MultiPoint.Enabled = append(config.Profiles[0].Plugins.MultiPoint.Enabled, configv1.Plugin{Name: "Patient"})
		_, err := build(t.Context(), config, registry)
		if err == nil || !strings.Contains(err.Error(), `"Patient"`) || !strings.Contains(err.Error(), "pass a scheme with their types") {
			t.Errorf("building the profiles: %v", err)
		}
		looked := inspect.Plugin{Name: "Patient"}
		if examine(t.Context(), &looked, nil, registry); !strings.Contains(looked.Problem, "pass a scheme with their types") {
			t.Errorf("looking at the plugin: %q", looked.Problem)
		}
	})
}
