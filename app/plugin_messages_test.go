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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/app"
	"github.com/rouse-scheduler/rouse/runtime"
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
		"panic":         {func() (fwk.Plugin, error) { panic("oops") }, `plugin "Outer" panicked in its factory: oops (at app/plugin_messages_test.go:`},
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

// limits are the arguments of a plugin.
type limits struct {
	metav1.TypeMeta `json:",inline"`
	Pods            int      `json:"pods"`
	Zones           []string `json:"zones"`
}

func (l *limits) DeepCopyObject() apiruntime.Object {
	copied := *l
	return &copied
}

// validate is the validation of a plugin that does it as the API machinery does.
func (l *limits) validate() error {
	var errs field.ErrorList
	for i, zone := range l.Zones {
		if zone == "" {
			errs = append(errs, field.Required(field.NewPath("zones").Index(i), "name a zone"))
		}
	}
	if l.Pods < 0 {
		errs = append(errs, field.Invalid(field.NewPath("pods"), l.Pods, "must not be negative"))
	}
	return errs.ToAggregate()
}

// Errors in the arguments of a plugin out of the tree have the place of the argument: those of DecodeStrict and of the plugin's own
// validation, and for a type in a scheme those of the decoder.
func TestArgumentErrorsHaveAPlace(t *testing.T) {
	scheme := apiruntime.NewScheme()
	scheme.AddKnownTypeWithName(configv1.SchemeGroupVersion.WithKind("TypedArgs"), &limits{})
	build := func(name string) app.Option {
		return app.WithPlugin(name, func(_ context.Context, args apiruntime.Object, _ fwk.Handle) (fwk.Plugin, error) {
			given, typed := args.(*limits)
			if !typed {
				given = &limits{}
				if err := runtime.DecodeStrict(args, given); err != nil {
					return nil, err
				}
			}
			return &named{name}, given.validate()
		})
	}
	for args, want := range map[string][]string{
		"{pods: 1, zones: [a]}":   nil,
		"{pods: -1, zones: ['']}": {`:9:13: profiles[0].pluginConfig[0].args.pods: initializing plugin "NAME": pods: Invalid value: -1: must not be negative`, `:9:31: profiles[0].pluginConfig[0].args.zones[0]: initializing plugin "NAME": zones[0]: Required value: name a zone`},
		"{pods: 1, zone: a}":      {`:9:22: profiles[0].pluginConfig[0].args.zone: `, "unknown field"},
		"{pods: 1, pods: 2}":      {`:9:22: `, "pods"},
		"{pods: many}":            {`:9:13: profiles[0].pluginConfig[0].args.pods: `, "string"},
	} {
		for _, name := range []string{"Raw", "Typed"} {
			config := write(t, t.TempDir(), "scheduler.yaml", header+"profiles:\n- plugins:\n    filter:\n      enabled: [{name: "+name+
				"}]\n  pluginConfig:\n  - {name: "+name+",\n     args: "+args+"}\n")
			got := execute(t, app.NewSchedulerCommandWithScheme(scheme, build(name)), "profiles", "validate", config)
			if (got.code != 0) != (want != nil) {
				t.Errorf("%s %s: %+v", name, args, got)
			}
			for _, part := range want {
				if part = strings.ReplaceAll(part, "NAME", name); !strings.Contains(got.stderr, part) {
					t.Errorf("%s %s: standard error is\n%swithout %s", name, args, got.stderr, part)
				}
			}
		}
	}
}
