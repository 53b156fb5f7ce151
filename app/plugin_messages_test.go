// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app_test

import (
	"context"
	"errors"
	goruntime "runtime"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/app"
)

// named is a Filter plugin that accepts all.
type named struct{ name string }

func (n *named) Name() string { return n.name }

func (*named) Filter(context.Context, fwk.CycleState, *v1.Pod, fwk.NodeInfo) *fwk.Status { return nil }

func withFactory(name string, build func() (fwk.Plugin, error)) app.Option {
	return app.WithPlugin(name, func(context.Context, apiruntime.Object, fwk.Handle) (fwk.Plugin, error) { return build() })
}

const filtersByOuter = header + "profiles:\n- plugins:\n    filter:\n      enabled: [{name: NodeName}, {name: Outer}]\n"

// A plugin that goes by two names is accepted, as by kube-scheduler, with a warning.
func TestPluginsWithTwoNames(t *testing.T) {
	folder := t.TempDir()
	config := write(t, folder, "scheduler.yaml", filtersByOuter)
	node := write(t, folder, "node.yaml", "{apiVersion: v1, kind: Node, metadata: {name: n1}}")
	with := withFactory("Outer", func() (fwk.Plugin, error) { return &named{"Inner"}, nil })
	const names = `plugin "Outer" calls itself "Inner"`
	place := "Warning: " + config + ":6:35: profiles[0].plugins.filter.enabled[1]: "
	if got := rouse(t, []string{"profiles", "validate", config}, with); got.code != 0 || !strings.HasPrefix(got.stderr, place+names) {
		t.Errorf("validate: %+v", got)
	}
	if got := rouse(t, []string{"profiles", "validate", "--strict", config}, with); got.code != 1 {
		t.Errorf("validate --strict: %+v", got)
	}
	if got := rouse(t, []string{"simulate", "--config", config, node}, with); got.code != 0 || !strings.Contains(got.stderr, names) {
		t.Errorf("simulate: %+v", got)
	}
}

// Whatever keeps a plugin from being built, the message has the place in the file where the profile names the plugin.
func TestFactoryErrorsHaveAPlace(t *testing.T) {
	folder := t.TempDir()
	config := write(t, folder, "scheduler.yaml", filtersByOuter)
	node := write(t, folder, "node.yaml", "{apiVersion: v1, kind: Node, metadata: {name: n1}}")
	tests := map[string]struct {
		build func() (fwk.Plugin, error)
		want  string
	}{
		"an error":      {func() (fwk.Plugin, error) { return nil, errors.New("oops") }, "oops"},
		"nil":           {func() (fwk.Plugin, error) { return nil, nil }, "the factory returned no plugin"},
		"a nil pointer": {func() (fwk.Plugin, error) { return (*named)(nil), nil }, "the factory returned a nil *app_test.named"},
		"no name":       {func() (fwk.Plugin, error) { return &named{}, nil }, "the plugin has no name"},
		"panic":         {func() (fwk.Plugin, error) { panic("oops") }, `plugin "Outer" panicked in its factory: oops`},
		"end":           {func() (fwk.Plugin, error) { goruntime.Goexit(); return nil, nil }, `plugin "Outer" failed in its factory`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for _, args := range [][]string{{"profiles", "validate", config}, {"simulate", "--config", config, node}} {
				got := rouse(t, args, withFactory("Outer", test.build))
				want := config + `:6:35: profiles[0].plugins.filter.enabled[1]: initializing plugin "Outer": ` + test.want
				if got.code != 2 || !strings.HasPrefix(got.stderr, want) {
					t.Errorf("%v: exit code %d, standard error %q\nwant %q", args, got.code, got.stderr, want)
				}
			}
		})
	}
}
