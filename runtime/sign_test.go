// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/runtime"
)

// signer is a plugin for any point that signs pods.
type signer struct {
	*fake
	fragments []fwk.SignFragment
	status    *fwk.Status
}

func (s signer) SignPod(ctx context.Context, _ *v1.Pod) ([]fwk.SignFragment, *fwk.Status) {
	if status := s.call(ctx, runtime.MethodSign); status != nil {
		return nil, status
	}
	return s.fragments, s.status
}

func signing(name string, fragments ...fwk.SignFragment) signer {
	return signer{fake: &fake{name: name}, fragments: fragments}
}

func fragment(key string, value any) fwk.SignFragment {
	return fwk.SignFragment{Key: key, Value: value}
}

func TestSignPod(t *testing.T) {
	refusing := signer{fake: &fake{name: "A"}, status: fwk.NewStatus(fwk.Unschedulable, "not this one")}
	failing := signer{fake: &fake{name: "A"}, status: fwk.AsStatus(errors.New("broken"))}
	tests := map[string]struct {
		set     func(*configv1.Plugins)
		plugins []fwk.Plugin
		options runtime.Options
		want    string
	}{
		"no plugins": {
			set:  func(*configv1.Plugins) {},
			want: `{"v1.Pod.Spec.SchedulerName":"test-scheduler"}`,
		},
		"one of each kind, distinct": {
			set: func(p *configv1.Plugins) {
				p.PreFilter, p.Filter, p.PreScore, p.Score = enabled("A", "B"), enabled("B"), enabled("C"), enabled("D", "A")
			},
			plugins: []fwk.Plugin{signing("A", fragment("a", 1)), signing("B", fragment("b", []string{"x"})), signing("C", fragment("c", "y")), signing("D")},
			want:    `{"a":1,"b":["x"],"c":"y","v1.Pod.Spec.SchedulerName":"test-scheduler"}`,
		},
		"several fragments and duplicates": {
			set:     func(p *configv1.Plugins) { p.Filter = enabled("A", "B") },
			plugins: []fwk.Plugin{signing("A", fragment("z", 1), fragment("a", 2)), signing("B", fragment("a", 2))},
			want:    `{"a":2,"v1.Pod.Spec.SchedulerName":"test-scheduler","z":1}`,
		},
		"a plugin cannot sign": {
			set:     func(p *configv1.Plugins) { p.Filter = enabled("A", "B") },
			plugins: []fwk.Plugin{signing("A"), filterOnly{"B"}},
		},
		"a plugin that looks at no node need not sign": {
			set:     func(p *configv1.Plugins) { p.Filter, p.Reserve = enabled("A"), enabled("B") },
			plugins: []fwk.Plugin{signing("A"), &fake{name: "B"}},
			want:    `{"v1.Pod.Spec.SchedulerName":"test-scheduler"}`,
		},
		"refused":                      {set: func(p *configv1.Plugins) { p.Filter = enabled("A") }, plugins: []fwk.Plugin{refusing}},
		"error":                        {set: func(p *configv1.Plugins) { p.Filter = enabled("A") }, plugins: []fwk.Plugin{failing}},
		"value that cannot be written": {set: func(p *configv1.Plugins) { p.Filter = enabled("A") }, plugins: []fwk.Plugin{signing("A", fragment("a", func() {}))}},
		"extenders": {
			set:     func(p *configv1.Plugins) { p.Filter = enabled("A") },
			plugins: []fwk.Plugin{signing("A")}, options: runtime.Options{Extenders: []fwk.Extender{extender{}}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := build(t, test.options, test.set, test.plugins...)
			got := f.SignPod(t.Context(), objects.Pod("p").Build())
			if diff := cmp.Diff(test.want, string(got)); diff != "" {
				t.Errorf("signature (-want +got):\n%s", diff)
			}
			if test.want == "" && got != nil {
				t.Errorf("signature %q, want nil", got)
			}
		})
	}
}

// classifier says itself which pods are alike.
type classifier struct {
	signer
	class string
	ok    bool
}

func (c classifier) HintClass(*v1.Pod) (string, bool) {
	c.call(context.Background(), runtime.MethodHintClass)
	return c.class, c.ok
}

// keyed is a plugin that knows itself what its verdicts depend on.
type keyed struct{ signer }

func (keyed) AppendFilterKey(key []byte, _ fwk.CycleState, _ *v1.Pod) ([]byte, bool) {
	return key, true
}

// TestHintClass has plugins that say which pods are alike to their hints, that sign pods, or that do neither. What they sign for
// pods of one controller need not have the namespace, of which claims and whatever else the pod names depends, nor the addresses
// of ports.
func TestHintClass(t *testing.T) {
	plugins := []fwk.Plugin{
		classifier{signer: signing("Decides", fragment("a", 1)), class: "red", ok: true},
		classifier{signer: signing("Declines", fragment("a", 1))},
		signing("Signs", fragment("b", 2), fragment("a", 1)),
		signing("SignsNothing"),
		keyed{signing("HasKey", fragment("a", 1))},
		signing("SignsPorts", fragment(fwk.HostPortsSignerName, []int32{80})),
		signer{fake: &fake{name: "Refuses"}, status: fwk.NewStatus(fwk.Unschedulable)},
		signing("Unwritable", fragment("a", make(chan int))),
		filterOnly{"Plain"},
	}
	f := build(t, runtime.Options{}, func(p *configv1.Plugins) {
		for _, plugin := range plugins {
			p.Filter.Enabled = append(p.Filter.Enabled, configv1.Plugin{Name: plugin.Name()})
		}
	}, plugins...)
	tests := map[string]struct {
		class string
		ok    bool
	}{
		"Decides":      {"red", true},
		"Declines":     {"", false},
		"Signs":        {`{"a":1,"b":2,"namespace":"shop"}`, true},
		"SignsNothing": {`{"namespace":"shop"}`, true},
		"HasKey":       {`{"a":1}`, true},
		"SignsPorts":   {"", false},
		"Refuses":      {"", false},
		"Unwritable":   {"", false},
		"Plain":        {"", false},
		"Absent":       {"", false},
	}
	for name, want := range tests {
		class, ok := f.HintClass(t.Context(), name, objects.Pod("p").Namespace("shop").Build())
		if class != want.class || ok != want.ok {
			t.Errorf("%s: class %q, %v, want %q, %v", name, class, ok, want.class, want.ok)
		}
	}
}
