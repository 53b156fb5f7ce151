// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime_test

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/runtime"
)

func noPlugin(context.Context, apiruntime.Object, fwk.Handle) (fwk.Plugin, error) { return nil, nil }

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return withoutLine(err.Error())
}

func TestRegistry(t *testing.T) {
	tests := map[string]struct {
		change    func(runtime.Registry) error
		wantError string
		wantNames []string
	}{
		"register": {
			change:    func(r runtime.Registry) error { return r.Register("C", noPlugin) },
			wantNames: []string{"A", "B", "C"},
		},
		"register duplicate": {
			change:    func(r runtime.Registry) error { return r.Register("A", noPlugin) },
			wantError: "a plugin named A already exists",
			wantNames: []string{"A", "B"},
		},
		"register without factory": {
			change:    func(r runtime.Registry) error { return r.Register("C", nil) },
			wantError: "plugin named C has no factory",
			wantNames: []string{"A", "B"},
		},
		"unregister": {
			change:    func(r runtime.Registry) error { return r.Unregister("A") },
			wantNames: []string{"B"},
		},
		"unregister missing": {
			change:    func(r runtime.Registry) error { return r.Unregister("C") },
			wantError: "no plugin named C exists",
			wantNames: []string{"A", "B"},
		},
		"merge": {
			change:    func(r runtime.Registry) error { return r.Merge(runtime.Registry{"C": noPlugin, "D": noPlugin}) },
			wantNames: []string{"A", "B", "C", "D"},
		},
		"merge duplicates": {
			change: func(r runtime.Registry) error {
				return r.Merge(runtime.Registry{"A": noPlugin, "B": noPlugin, "C": noPlugin})
			},
			wantError: "a plugin named A already exists\na plugin named B already exists",
			wantNames: []string{"A", "B", "C"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			registry := runtime.Registry{"A": noPlugin, "B": noPlugin}
			if diff := cmp.Diff(test.wantError, errorText(test.change(registry))); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.wantNames, slices.Sorted(maps.Keys(registry))); diff != "" {
				t.Errorf("names (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecodeInto(t *testing.T) {
	type target struct {
		Color string `json:"color"`
		Size  int    `json:"size"`
	}
	tests := map[string]struct {
		args      apiruntime.Object
		want      target
		wantError string
	}{
		"nil keeps defaults":    {args: nil, want: target{Color: "red"}},
		"empty keeps defaults":  {args: &apiruntime.Unknown{}, want: target{Color: "red"}},
		"JSON by default":       {args: &apiruntime.Unknown{Raw: []byte(`{"size":3}`)}, want: target{Color: "red", Size: 3}},
		"JSON by type":          {args: &apiruntime.Unknown{Raw: []byte(`{"color":"blue"}`), ContentType: apiruntime.ContentTypeJSON}, want: target{Color: "blue"}},
		"YAML":                  {args: &apiruntime.Unknown{Raw: []byte("size: 4\n"), ContentType: apiruntime.ContentTypeYAML}, want: target{Color: "red", Size: 4}},
		"unknown field ignored": {args: &apiruntime.Unknown{Raw: []byte(`{"weight":3}`)}, want: target{Color: "red"}},
		"another case ignored":  {args: &apiruntime.Unknown{Raw: []byte(`{"Size":3}`)}, want: target{Color: "red"}},
		"other type":            {args: &v1.Pod{}, want: target{Color: "red"}, wantError: "want args of type runtime.Unknown, got *v1.Pod"},
		"other content type":    {args: &apiruntime.Unknown{Raw: []byte("x"), ContentType: "application/protobuf"}, want: target{Color: "red"}, wantError: "not supported content type application/protobuf"},
		"wrong kind of a field": {args: &apiruntime.Unknown{Raw: []byte(`{"size":"big"}`)}, want: target{Color: "red"}, wantError: "decoding plugin arguments into *runtime_test.target: json: cannot unmarshal string into Go struct field target.size of type int"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := target{Color: "red"}
			if diff := cmp.Diff(test.wantError, errorText(runtime.DecodeInto(test.args, &got))); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("arguments (-want +got):\n%s", diff)
			}
		})
	}
}
