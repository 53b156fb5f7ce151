// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"bytes"
	"context"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2/textlogger"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// inner is a Filter plugin that accepts all.
type inner struct{}

func (inner) Name() string { return "Inner" }

func (inner) Filter(context.Context, fwk.CycleState, *v1.Pod, fwk.NodeInfo) *fwk.Status { return nil }

// The log has both names of a plugin that goes by two, once.
func TestPluginsWithTwoNamesAreLogged(t *testing.T) {
	var log bytes.Buffer
	newFixtureWith(t, func(o *Options) {
		o.Logger = textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&log)))
		err := o.Registry.Register("Outer", func(context.Context, apiruntime.Object, fwk.Handle) (fwk.Plugin, error) { return inner{}, nil })
		if err != nil {
			t.Fatal(err)
		}
		filter := &o.Configuration.Profiles[0].Plugins.Filter
		filter.Enabled = append(filter.Enabled, configv1.Plugin{Name: "Outer"})
	})
	if text := strings.ReplaceAll(log.String(), "\\", ""); strings.Count(text, `plugin "Outer" calls itself "Inner"`) != 1 {
		t.Errorf("want one line with both names:\n%s", text)
	}
}
